//! Parameters that have a rate or a decay of their own.
//!
//! A group is named by a pattern over the parameters' names, as `backcut explain` lists them: `*`
//! stands for any run of characters, everything else for itself. (A crate for globs reads `[`, `?`
//! and `/` as more than themselves; one wildcard takes twenty lines.)

use std::ops::Range;

use backcut_engine::Layout;
use backcut_kernels::optim::rule::Stretch;
use serde::{Deserialize, Serialize};

use super::{Optimizer, Rule};

/// Parameters by a pattern over their names, and what is different for them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterGroup {
    /// Which parameters: `*` stands for anything. A parameter belongs to the first group that fits.
    pub parameters: String,
    /// Their rate is the optimizer's times this [default: 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Their weight decay [default: the optimizer's].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decay: Option<f64>,
}

impl ParameterGroup {
    /// This group's rule, made from everybody's.
    fn over(&self, rule: Rule) -> Rule {
        let rule = rule.times(self.rate.unwrap_or(1.0));
        self.decay.map_or(rule, |decay| rule.with("decay", decay))
    }

    /// The first setting that makes no sense under a rule, with the reason.
    pub(super) fn check(&self, rule: Rule) -> Result<(), String> {
        let name = &self.parameters;
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(format!("optimizer.groups: `{name}` is no pattern of names"));
        }
        if self.rate.is_none() && self.decay.is_none() {
            return Err(format!("optimizer.groups: `{name}` changes neither rate nor decay"));
        }
        if !(0.0..f64::INFINITY).contains(&self.rate.unwrap_or(1.0)) {
            return Err(format!("optimizer.groups: `{name}`: rate is a factor of at least 0"));
        }
        if self.rate == Some(0.0) {
            return Ok(()); // they stay as they are
        }
        self.over(rule).check().map_err(|what| format!("optimizer.groups: `{name}`: {what}"))
    }
}

/// A name fits a pattern.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    if rest.is_empty() {
        return true;
    }
    loop {
        if fits(rest, left) {
            return true;
        }
        let mut chars = left.chars();
        if chars.next().is_none() {
            return false;
        }
        left = chars.as_str();
    }
}

/// Which parameters follow which group: ranges of the flat vector in ascending order, neighbours of
/// one group joined.
#[derive(Clone, PartialEq, Debug)]
pub struct Placed {
    ranges: Vec<(Range<usize>, Option<usize>)>,
}

impl Placed {
    /// Finds every parameter's group. A group that no parameter follows is an error.
    pub fn new(optimizer: &Optimizer, layout: &Layout) -> Result<Self, String> {
        let mut ranges: Vec<(Range<usize>, Option<usize>)> = Vec::new();
        for parameter in layout.parameters() {
            let groups = &optimizer.groups;
            let group = groups.iter().position(|g| fits(&g.parameters, &parameter.name));
            let range = parameter.range();
            match ranges.last_mut() {
                Some((last, of)) if *of == group && last.end == range.start => last.end = range.end,
                _ => ranges.push((range, group)),
            }
        }
        for (index, group) in optimizer.groups.iter().enumerate() {
            if !ranges.iter().any(|(_, of)| *of == Some(index)) {
                let names: Vec<&str> =
                    layout.parameters().iter().map(|p| p.name.as_str()).take(4).collect();
                return Err(format!(
                    "optimizer.groups: no parameter is left for `{}` (the first are {})",
                    group.parameters,
                    names.join(", ")
                ));
            }
        }
        Ok(Self { ranges })
    }

    /// Room for the stretches of a step, to be written anew with every step.
    pub fn stretches(&self, optimizer: &Optimizer, step: u64) -> Vec<Stretch> {
        let mut stretches = Vec::with_capacity(self.ranges.len());
        self.stretches_into(optimizer, step, &mut stretches);
        stretches
    }

    /// Every stretch with its rule at a step of the optimizer's own count, which begins at 1.
    /// Allocates nothing where `stretches` has room.
    pub fn stretches_into(&self, optimizer: &Optimizer, step: u64, stretches: &mut Vec<Stretch>) {
        let everybody = optimizer.at(step);
        stretches.clear();
        stretches.extend(self.ranges.iter().map(|(range, group)| {
            let group = group.map(|group| &optimizer.groups[group]);
            let rule = group.map_or(everybody, |group| group.over(everybody));
            Stretch { range: range.clone(), rule }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, is_fit) in [
            ("*", "encoder.b", true),
            ("*.b", "encoder.b", true),
            ("*.b", "encoder.bias", false),
            ("block*.w_?", "block1.w_?", true),
            ("b*k*.w", "block1.k.w", true),
            ("block", "block1", false),
            ("*x*x*", "axb", false),
            ("*\u{e9}", "caf\u{e9}", true),
        ] {
            assert_eq!(fits(pattern, name), is_fit, "{pattern} and {name}");
        }
    }
}
