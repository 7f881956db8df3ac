//! Optimizers of other frameworks: the update that each makes of a gradient, as a difference of parameters.
//!
//! Adam and AdamW are the kernels' own step. The orders of the others are PyTorch's: the clip first, then
//! weight decay (which SGD and Adam add to the gradient), then the moment.

use std::ops::Range;

use backcut_kernels::{Real, optim};
use serde::Deserialize;

use crate::compare::Subject;

/// An optimizer's settings.
#[derive(Clone, Copy, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Optimizer {
    /// Without a moment.
    Sgd { rate: f64, decay: f64 },
    /// SGD with a moment; the first gradient is the first moment.
    Momentum { rate: f64, decay: f64, momentum: f64, dampening: f64, nesterov: bool },
    /// Weight decay is added to the gradient.
    Adam { rate: f64, beta1: f64, beta2: f64, eps: f64, decay: f64 },
    /// Weight decay shrinks the parameters beside the gradient's step.
    Adamw { rate: f64, beta1: f64, beta2: f64, eps: f64, decay: f64 },
}

/// Storage that is used again from tile to tile.
pub(crate) struct Space<R> {
    update: Vec<R>,
    decayed: Vec<R>,
}

impl<R> Default for Space<R> {
    fn default() -> Self {
        Self { update: Vec::new(), decayed: Vec::new() }
    }
}

impl Optimizer {
    /// How many vectors it remembers.
    pub fn moments(&self) -> usize {
        match self {
            Self::Sgd { .. } => 0,
            Self::Momentum { .. } => 1,
            Self::Adam { .. } | Self::Adamw { .. } => 2,
        }
    }

    /// AdamW's own settings, for whatever divides by a second moment.
    pub fn adam(&self) -> Option<optim::AdamW> {
        match *self {
            Self::Adam { rate, beta1, beta2, eps, decay }
            | Self::Adamw { rate, beta1, beta2, eps, decay } => {
                Some(optim::AdamW { rate, beta1, beta2, eps, decay })
            }
            Self::Sgd { .. } | Self::Momentum { .. } => None,
        }
    }

    /// What it adds to a range of the parameters.
    pub fn update<'s, R: Real>(
        &self,
        subject: &Subject<'_, R>,
        arm: usize,
        factor: R,
        range: Range<usize>,
        space: &'s mut Space<R>,
    ) -> &'s [R] {
        let gradient = &subject.gradients[arm][range.clone()];
        let params = &subject.params[range.clone()];
        let moment = |i: usize| &subject.moments[i][range.clone()];
        let Space { update, decayed } = space;
        update.resize(range.len(), R::ZERO);
        let real = R::from_f64;
        match *self {
            Self::Sgd { rate, decay } => {
                for ((u, g), theta) in update.iter_mut().zip(gradient).zip(params) {
                    let step = *g * factor + real(decay) * *theta;
                    *u = (*theta - real(rate) * step) - *theta;
                }
            }
            Self::Momentum { rate, decay, momentum, dampening, nesterov } => {
                let (keep, add) = (real(momentum), real(1.0 - dampening));
                let rows = update.iter_mut().zip(gradient).zip(params).zip(moment(0));
                for (((u, g), theta), before) in rows {
                    let step = *g * factor + real(decay) * *theta;
                    let after = if subject.step == 0 { step } else { keep * *before + add * step };
                    let direction = if nesterov { step + keep * after } else { after };
                    *u = (*theta - real(rate) * direction) - *theta;
                }
            }
            Self::Adam { decay, .. } | Self::Adamw { decay, .. } => {
                let is_coupled = matches!(self, Self::Adam { .. }) && decay > 0.0;
                let mut settings = self.adam().expect("one of the two");
                let mut used = factor;
                let mut gradient = gradient;
                if matches!(self, Self::Adam { .. }) {
                    settings.decay = 0.0;
                }
                if is_coupled {
                    let terms = gradient.iter().zip(params);
                    decayed.clear();
                    decayed.extend(terms.map(|(g, theta)| *g * factor + real(decay) * *theta));
                    (gradient, used) = (decayed, R::ONE);
                }
                let step = optim::Step::new(&settings, subject.step + 1, used);
                optim::adamw_update_by(step, params, moment(0), moment(1), gradient, update);
            }
        }
        update
    }
}
