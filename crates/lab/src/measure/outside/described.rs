//! What a comparison knows before it looks at a number.

use std::ops::Range;

use regex::Regex;

use crate::training::{Clip, Rule, Stretch};

use crate::measure::groups::{Group, group_of, groups_by};
use crate::measure::layers::Step;
use crate::measure::source::OutsideError;

/// The optimizer that meets the gradients.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Optimizing {
    /// Its rule with its settings; the rate is the one of this update.
    pub rule: Rule,
    /// Threshold of the clip of the global norm; infinite for none.
    pub clip: f64,
    /// Updates that the moments have seen; 0 before the first.
    pub step: u64,
}

/// Parameters by name, arms by name, and perhaps an optimizer.
#[derive(Clone, PartialEq, Debug)]
pub struct Described {
    /// Names and lengths in the order in which vectors hold them.
    pub parameters: Vec<(String, usize)>,
    /// Names of the arms, the reference first.
    pub arms: Vec<String>,
    /// The optimizer, if updates are wanted.
    pub optimizer: Option<Optimizing>,
    /// Four arms whose interaction is wanted, `a - b - c + d`.
    pub factorial: Option<[usize; 4]>,
}

impl Described {
    /// Numbers in a vector.
    pub fn len(&self) -> usize {
        self.parameters.iter().map(|(_, len)| len).sum()
    }

    /// No parameters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names and ranges.
    pub fn ranges(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let mut start = 0;
        self.parameters.iter().map(move |(name, len)| {
            let range = start..start + len;
            start = range.end;
            (name.as_str(), range)
        })
    }

    /// Refuses what cannot be compared.
    pub fn check(&self) -> Result<(), OutsideError> {
        if self.is_empty() {
            return Err(OutsideError::new("no parameters", "there is nothing to compare"));
        }
        if let Some((name, _)) = self.parameters.iter().find(|(_, len)| *len == 0) {
            let what = format!("parameter `{name}` is empty");
            return Err(OutsideError::new(what, "leave it out"));
        }
        if self.arms.is_empty() {
            return Err(OutsideError::new("no arms", "give at least one gradient"));
        }
        for (at, arm) in self.arms.iter().enumerate() {
            if arm.is_empty() || self.arms[..at].contains(arm) {
                let what = format!("arm {arm:?} twice, or without a name");
                return Err(OutsideError::new(what, "give every arm a name of its own"));
            }
        }
        self.optimizer.map_or(Ok(()), |optimizer| optimizer.check())
    }
}

impl Optimizing {
    /// The step that follows, for as many parameters.
    pub(super) fn next(&self, len: usize) -> Step {
        let clip = if self.clip.is_finite() { self.clip.into() } else { Clip::NONE };
        let stretches = vec![Stretch { range: 0..len, rule: self.rule }];
        let keeps = if self.step > 0 { self.rule.keeps() } else { 0 };
        let has = [keeps > 0, keeps > 1];
        Step { rule: self.rule, stretches, clip, before: self.step, has }
    }

    fn check(&self) -> Result<(), OutsideError> {
        if self.clip.is_nan() || self.clip <= 0.0 {
            let what = format!("a clip at {}", self.clip);
            return Err(OutsideError::new(
                what,
                "a threshold is above zero; leave it out for none",
            ));
        }
        let hint = "rates and eps are above zero, betas and momentum in [0, 1), decay not negative";
        self.rule.check().map_err(|what| OutsideError::new(what, hint))
    }
}

/// Parameters whose names match a pattern are one group.
#[derive(Clone, Debug)]
pub struct GroupRule {
    name: String,
    pattern: Regex,
}

impl std::str::FromStr for GroupRule {
    type Err = OutsideError;

    /// Reads `name=regex`.
    fn from_str(text: &str) -> Result<Self, OutsideError> {
        let hint = "write NAME=REGEX, as 'attention=\\.attn\\.'";
        let pair = text.split_once('=').filter(|(name, _)| !name.trim().is_empty());
        let (name, pattern) =
            pair.ok_or_else(|| OutsideError::new(format!("group {text:?} has no name"), hint))?;
        let pattern = Regex::new(pattern).map_err(|error| {
            let line = error.to_string().lines().last().unwrap_or_default().to_owned();
            OutsideError::new(format!("group {text:?}: {line}"), hint)
        })?;
        Ok(Self { name: name.trim().to_owned(), pattern })
    }
}

/// The groups of parameters: the first rule that a name matches, else what its name says.
pub fn group(described: &Described, rules: &[GroupRule]) -> Result<Vec<Group>, OutsideError> {
    for (at, rule) in rules.iter().enumerate() {
        if !described.parameters.iter().any(|(name, _)| rule.pattern.is_match(name)) {
            let names: Vec<&str> = described.parameters.iter().map(|(n, _)| n.as_str()).collect();
            let some = names[..names.len().min(5)].join(", ");
            let what = format!("group `{}` matches no parameter", rule.name);
            return Err(OutsideError::new(what, format!("parameters are called {some} ...")));
        }
        if rules[..at].iter().any(|other| other.name == rule.name) {
            let what = format!("group `{}` twice", rule.name);
            return Err(OutsideError::new(what, "join the patterns by |"));
        }
    }
    let of = |parameter: &str| {
        let found = rules.iter().find(|rule| rule.pattern.is_match(parameter));
        found.map_or_else(|| group_of(parameter), |rule| rule.name.clone())
    };
    Ok(groups_by(described.ranges(), &of))
}
