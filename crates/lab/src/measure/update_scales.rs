//! Gradients against the optimizer's own scale: why Adam enlarges one difference and swallows
//! another.
//!
//! The scale of a weight is `sqrt(vhat)`, its second moment **before** the update, corrected for
//! its bias; before the first update there is none, SGD never has one, and what needs it is
//! undefined there. The direction of Adam and AdamW is `mhat / (sqrt(vhat) + eps)` **after** the
//! update, without weight decay. A gradient that dominates both moments brings
//! `|mhat| / sqrt(vhat)` to the limit `(1 - b1) / (1 - b1^t) * sqrt((1 - b2^t) / (1 - b2))`
//! whatever its size (1 for the betas 0.9 and 0.99 at late steps, 3.2 for 0.9 and 0.999). A weight
//! is *saturated* above 0.9 of that: a saturated direction is close to the gradient's sign. SGD's
//! direction is its velocity after the update. Decay that is added to the gradient (Adam's and
//! SGD's, not AdamW's) is part of both the gradient and the direction here.

use crate::training::Rule;
use backcut_kernels::Real;
use backcut_kernels::optim::history::{self, Scale};

/// `sqrt(vhat) + eps`, what gradients are held against.
#[derive(Clone, Copy)]
pub(crate) struct Yardstick(Scale);

impl Yardstick {
    /// A rule's after `step` updates, or why there is none.
    pub fn new(rule: &Rule, step: u64) -> Result<Self, &'static str> {
        let scale = rule.scale(step)?;
        if step == 0 {
            return Err("no second moment before update 1");
        }
        Ok(Self(scale))
    }

    /// Adam's epsilon.
    pub fn eps(self) -> f32 {
        self.0.eps
    }

    /// Writes `sqrt(vhat)`.
    pub fn root<R: Real>(self, second: &[R], root: &mut Vec<f32>) {
        root.resize(second.len(), 0.0);
        history::root(self.0.unbias, second, root);
    }
}
