//! Gradient descent, as PyTorch's `torch.optim.SGD` without Nesterov's variant and dampening:
//! `g <- g + wd theta` after clipping; `b <- momentum b + g`; `theta <- theta - lr b`.
//!
//! The velocity `b` lies where Adam keeps its first moment; the second stays as it is.

use super::{Described, Element, decayed, settings};
use crate::Real;
use crate::optim::history::{Directed, Scale};

settings! {
    /// Settings of gradient descent.
    Sgd {
        /// Learning rate.
        rate = 1e-3,
        /// What is kept of the velocity; 0 for none.
        momentum = 0.0,
        /// Weight decay, added to the clipped gradient.
        decay = 0.0,
    }
}

/// Scalars of one step.
#[derive(Clone, Copy)]
pub struct Step<R> {
    rate: R,
    momentum: R,
    decay: R,
    factor: R,
}

impl<R: Real> Element<R> for Step<R> {
    const WRITES: usize = 1;

    #[inline(always)]
    fn element(&self, theta: R, b: R, second: R, g: R) -> (R, R, R) {
        let velocity = self.momentum.mul_add(b, decayed(self.decay, self.factor, theta, g));
        (theta - self.rate * velocity, velocity, second)
    }
}

/// The velocity itself: nothing divides it, and nothing can saturate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Direction {
    momentum: f32,
    factor: f32,
}

impl Directed for Direction {
    #[inline(always)]
    fn element(&self, g: f32, b: f32, _: f32) -> (f32, bool) {
        (self.momentum * b + self.factor * g, false)
    }
}

impl Described for Sgd {
    type Step<R: Real> = Step<R>;
    type Direction = Direction;
    const TITLE: &'static str = "SGD";
    const MEMORY: &'static [&'static str] = &["velocity"];
    const SETTINGS: &'static [&'static str] = Self::SETTINGS;

    fn setting(&mut self, name: &str) -> Option<&mut f64> {
        self.by_name(name)
    }

    fn keeps(&self) -> usize {
        usize::from(self.momentum != 0.0)
    }

    fn coupled_decay(&self) -> f64 {
        self.decay
    }

    fn step<R: Real>(&self, _: u64, factor: R) -> Step<R> {
        let [rate, momentum, decay] = [self.rate, self.momentum, self.decay].map(R::from_f64);
        Step { rate, momentum, decay, factor }
    }

    fn direction(&self, _: u64, factor: f64) -> Direction {
        Direction { momentum: self.momentum as f32, factor: factor as f32 }
    }

    fn scale(&self, _: u64) -> Result<Scale, &'static str> {
        Err("not defined for SGD: it keeps no second moment")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::rule::tests::holds_to;

    #[test]
    fn it_is_its_formula() {
        for (momentum, decay) in [(0.0, 0.0), (0.9, 0.0), (0.9, 0.1)] {
            let rule = Sgd { rate: 0.01, momentum, decay };
            holds_to(rule, |w, g, _| {
                let seen = g + decay * w.theta;
                w.first = momentum * w.first + seen;
                w.theta -= rule.rate * w.first;
                (seen, w.first)
            });
        }
    }
}
