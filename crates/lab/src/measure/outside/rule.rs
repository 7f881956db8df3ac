//! What a rule adds to a stretch of parameters, by the kernels that training steps with.

use backcut_kernels::optim::rule::{self, Stretch as Moved};
use backcut_kernels::{Isa, Real};
use backcut_systems::{AdamWSettings, Rule, SgdSettings};

use super::described::OutsideError;

/// One stretch of everything that an update is made of.
pub(super) struct Stretch<'a, R> {
    pub(super) parameters: &'a [R],
    pub(super) first: &'a [R],
    pub(super) second: &'a [R],
    pub(super) gradient: &'a [R],
}

/// The moments that a rule keeps: first, second.
pub fn keeps(rule: &Rule) -> [bool; 2] {
    match rule {
        Rule::AdamW(_) | Rule::Adam(_) => [true, true],
        Rule::Sgd(SgdSettings { momentum, .. }) => [*momentum != 0.0, false],
    }
}

/// The settings by which gradients are held against the second moment: those of AdamW, and of Adam whose decay
/// does not mix the parameters into the gradient.
pub(super) fn scale(rule: &Rule) -> Option<AdamWSettings> {
    match *rule {
        Rule::AdamW(settings) => Some(settings),
        Rule::Adam(settings) => (settings.decay == 0.0).then_some(settings),
        Rule::Sgd(_) => None,
    }
}

pub(super) fn check(rule: &Rule) -> Result<(), OutsideError> {
    let hint = "rates and eps are above zero, betas and momentum in [0, 1), decay not negative";
    rule.check().map_err(|what| OutsideError::new(what, hint))
}

/// Writes `theta' - theta` of a stretch. `step` counts from 1; `factor` is the clip's.
pub(super) fn apply<R: Real>(
    rule: &Rule,
    step: u64,
    factor: R,
    of: &Stretch<R>,
    zeros: &mut Vec<R>,
    update: &mut [R],
) {
    let Stretch { parameters, first, second, gradient } = *of;
    let all = 0..parameters.len();
    zeros.resize(all.len(), R::ZERO);
    // What a rule does not keep was never anything but zero.
    let first = if first.is_empty() { &zeros[..] } else { first };
    let second = if second.is_empty() { &zeros[..] } else { second };
    let moved = [Moved { range: all.clone(), rule: rule.kernel() }];
    let isa = Isa::detect();
    rule::update_on(isa, &moved, step, factor, parameters, first, second, gradient, all, update);
}
