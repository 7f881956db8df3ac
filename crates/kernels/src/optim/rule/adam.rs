//! Adam with coupled decay, as PyTorch's `torch.optim.Adam`: `g <- g + wd theta` after clipping,
//! then AdamW's moments and step without a decay of its own.

use super::adamw::{self, AdamW};
use super::{Described, Element, decayed, settings};
use crate::Real;
use crate::optim::history::Scale;

settings! {
    /// Settings of Adam.
    Adam {
        /// Learning rate.
        rate = 1e-3,
        /// Decay of the first moment.
        beta1 = 0.9,
        /// Decay of the second moment.
        beta2 = 0.999,
        /// Added to the square root of the second moment.
        eps = 1e-8,
        /// Weight decay, added to the clipped gradient.
        decay = 0.0,
    }
}

impl Adam {
    fn without_decay(self) -> AdamW {
        let Self { rate, beta1, beta2, eps, decay: _ } = self;
        AdamW { rate, beta1, beta2, eps, decay: 0.0 }
    }
}

/// Scalars of one step.
#[derive(Clone, Copy)]
pub struct Step<R> {
    plain: adamw::Step<R>,
    decay: R,
    factor: R,
}

impl<R: Real> Element<R> for Step<R> {
    const WRITES: usize = 2;

    #[inline(always)]
    fn element(&self, theta: R, m: R, v: R, g: R) -> (R, R, R) {
        self.plain.element(theta, m, v, decayed(self.decay, self.factor, theta, g))
    }
}

impl Described for Adam {
    type Step<R: Real> = Step<R>;
    type Direction = adamw::Direction;
    const TITLE: &'static str = "Adam";
    const MEMORY: &'static [&'static str] = AdamW::MEMORY;
    const SETTINGS: &'static [&'static str] = Self::SETTINGS;

    fn setting(&mut self, name: &str) -> Option<&mut f64> {
        self.by_name(name)
    }

    fn coupled_decay(&self) -> f64 {
        self.decay
    }

    fn step<R: Real>(&self, step: u64, factor: R) -> Step<R> {
        let plain = self.without_decay().step(step, R::ONE);
        Step { plain, decay: R::from_f64(self.decay), factor }
    }

    fn direction(&self, step: u64, factor: f64) -> adamw::Direction {
        self.without_decay().direction(step, factor)
    }

    fn scale(&self, steps: u64) -> Result<Scale, &'static str> {
        self.without_decay().scale(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::rule::tests::{Book, holds_to};

    #[test]
    fn it_is_its_formula() {
        for decay in [0.0, 0.1] {
            let rule = Adam { rate: 3e-3, decay, ..Adam::default() };
            holds_to(rule, |w: &mut Book, g, t| {
                let seen = g + decay * w.theta;
                w.adam(&rule.without_decay(), seen, t)
            });
        }
    }
}
