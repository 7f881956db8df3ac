//! Cells: the values of an arm under a condition, one per source, wherever they lie.
//!
//! A study may use another's arms. Its tables then hold them under their own names, or the
//! condition names the study they come from (`c2/0.05`). If the study itself lacks a cell, it is
//! looked up where it was trained, so that a figure does not depend on which of the two ways a
//! collector chose.

use std::collections::BTreeMap;

use super::Results;

/// One spelling for comparing conditions: a number has two decimals whatever was written (`0`,
/// `0.2`, `c2/0.2`); other names are as they are.
pub fn canonical_condition(text: &str) -> String {
    if let Some((study, condition)) = text.split_once('/') {
        return format!("{study}/{}", canonical_condition(condition));
    }
    match text.parse::<f64>() {
        Ok(value)
            if value.is_finite() && (value * 100.0 - (value * 100.0).round()).abs() < 1e-9 =>
        {
            format!("{value:.2}")
        }
        Ok(value) if value.is_finite() => format!("{value}"),
        _ => text.to_owned(),
    }
}

/// Every source that was planned, with its value once the unit is done.
pub type SourceValues = BTreeMap<String, Option<f64>>;

/// Every name once, in the order of first appearance.
pub fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).collect()
}

/// Every condition once: numbers by value, everything else behind them as it comes.
pub fn in_order<'a>(conditions: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once = distinct(conditions);
    let place = |condition: &str| condition.parse().unwrap_or(f64::INFINITY);
    once.sort_by(|a, b| place(a).total_cmp(&place(b)));
    once
}

impl Results {
    /// The sources of `[arm@condition]` as `study` sees them; nothing if no unit of it is done.
    pub fn cell(&self, study: &str, arm: &str, condition: &str) -> Option<&SourceValues> {
        let condition = canonical_condition(condition);
        let own = self.study(study).and_then(|s| s.own(arm, &condition));
        if own.is_some() {
            return own;
        }
        if let Some((other, rest)) = condition.split_once('/') {
            return self.study(other).and_then(|s| s.own(arm, rest));
        }
        if let Some((other, rest)) = arm.split_once('/') {
            return self.study(other).and_then(|s| s.own(rest, &condition));
        }
        self.reused_cell(study, arm, &condition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_levels_have_one_spelling() {
        assert_eq!(canonical_condition("0"), "0.00");
        assert_eq!(canonical_condition("c2/0.2"), "c2/0.20");
        assert_eq!(canonical_condition("hidden"), "hidden");
        assert_eq!(canonical_condition("0.125"), "0.125");
        assert_eq!(canonical_condition("nan"), "nan");
    }
}
