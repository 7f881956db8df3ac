//! What a rule needs of a file.

use backcut_systems::{Rule, SgdSettings};

use crate::measure::source::OutsideError;

/// The moments that a rule keeps: first, second.
pub fn keeps(rule: &Rule) -> [bool; 2] {
    match rule {
        Rule::AdamW(_) | Rule::Adam(_) => [true, true],
        Rule::Sgd(SgdSettings { momentum, .. }) => [*momentum != 0.0, false],
    }
}

pub(super) fn check(rule: &Rule) -> Result<(), OutsideError> {
    let hint = "rates and eps are above zero, betas and momentum in [0, 1), decay not negative";
    rule.check().map_err(|what| OutsideError::new(what, hint))
}
