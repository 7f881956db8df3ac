//! AdamW, as PyTorch's `torch.optim.AdamW`, in this order and precision:
//! `theta <- theta - lr wd theta`; `m <- b1 m + (1-b1) g`; `v <- b2 v + (1-b2) g^2`;
//! `theta <- theta - lr (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)`.
//!
//! A gradient that dominates both moments brings `|mhat| / sqrt(vhat)` to the limit
//! `(1 - b1) / (1 - b1^t) * sqrt((1 - b2^t) / (1 - b2))` whatever its size: 1 for the betas 0.9 and
//! 0.99 at late steps, 3.2 for 0.9 and 0.999. A weight is saturated above 0.9 of that.

use super::{Described, Element, settings};
use crate::Real;
use crate::optim::history::{Directed, Scale};
use crate::optim::unbias;

/// The share of the limit of `|mhat| / sqrt(vhat)` from which a weight counts as saturated.
const SATURATED: f64 = 0.9;

settings! {
    /// Settings of AdamW. The usual ones are those of the quadrotor study.
    AdamW {
        /// Learning rate.
        rate = 1e-3,
        /// Decay of the first moment.
        beta1 = 0.9,
        /// Decay of the second moment.
        beta2 = 0.999,
        /// Added to the square root of the second moment.
        eps = 1e-8,
        /// Decoupled weight decay, applied to every parameter.
        decay = 0.01,
    }
}

/// Scalars of one step.
#[derive(Clone, Copy)]
pub struct Step<R> {
    keep: R,
    beta1: R,
    beta1_rest: R,
    beta2: R,
    beta2_rest: R,
    rate: R,
    unbias1: R,
    unbias2: R,
    eps: R,
    factor: R,
}

impl<R: Real> Element<R> for Step<R> {
    const WRITES: usize = 2;

    #[inline(always)]
    fn element(&self, theta: R, m: R, v: R, g: R) -> (R, R, R) {
        let gradient = g * self.factor;
        let first = self.beta1.mul_add(m, self.beta1_rest * gradient);
        let second = self.beta2.mul_add(v, self.beta2_rest * (gradient * gradient));
        let denominator = (second * self.unbias2).sqrt() + self.eps;
        (theta * self.keep - self.rate * (first * self.unbias1) / denominator, first, second)
    }
}

/// Scalars of the direction `mhat / (sqrt(vhat) + eps)` after a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Direction {
    keep1: f32,
    new1: f32,
    keep2: f32,
    new2: f32,
    unbias1: f32,
    unbias2: f32,
    eps: f32,
    threshold: f32,
}

impl Directed for Direction {
    #[inline(always)]
    fn element(&self, g: f32, m: f32, v: f32) -> (f32, bool) {
        let mean = (self.keep1 * m + self.new1 * g) * self.unbias1;
        let root = ((self.keep2 * v + self.new2 * (g * g)) * self.unbias2).sqrt();
        (mean / (root + self.eps), mean.abs() > self.threshold * root)
    }
}

impl Described for AdamW {
    type Step<R: Real> = Step<R>;
    type Direction = Direction;
    const TITLE: &'static str = "AdamW";
    const MEMORY: &'static [&'static str] = &["moment1", "moment2"];
    const SETTINGS: &'static [&'static str] = Self::SETTINGS;

    fn setting(&mut self, name: &str) -> Option<&mut f64> {
        self.by_name(name)
    }

    fn step<R: Real>(&self, step: u64, factor: R) -> Step<R> {
        Step {
            keep: R::from_f64(1.0 - self.rate * self.decay),
            beta1: R::from_f64(self.beta1),
            beta1_rest: R::from_f64(1.0 - self.beta1),
            beta2: R::from_f64(self.beta2),
            beta2_rest: R::from_f64(1.0 - self.beta2),
            rate: R::from_f64(self.rate),
            unbias1: R::from_f64(unbias(self.beta1, step)),
            unbias2: R::from_f64(unbias(self.beta2, step)),
            eps: R::from_f64(self.eps),
            factor,
        }
    }

    fn direction(&self, step: u64, factor: f64) -> Direction {
        let Self { beta1, beta2, eps, .. } = *self;
        let (unbias1, unbias2) = (unbias(beta1, step), unbias(beta2, step));
        let limit = (1.0 - beta1) * unbias1 / ((1.0 - beta2) * unbias2).sqrt();
        Direction {
            keep1: beta1 as f32,
            new1: ((1.0 - beta1) * factor) as f32,
            keep2: beta2 as f32,
            new2: ((1.0 - beta2) * factor * factor) as f32,
            unbias1: unbias1 as f32,
            unbias2: unbias2 as f32,
            eps: eps as f32,
            threshold: (SATURATED * limit) as f32,
        }
    }

    fn scale(&self, steps: u64) -> Result<Scale, &'static str> {
        Ok(Scale { unbias: unbias(self.beta2, steps) as f32, eps: self.eps as f32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::rule::tests::{Book, holds_to};

    #[test]
    fn it_is_its_formula() {
        let rule = AdamW { rate: 3e-3, decay: 0.1, ..AdamW::default() };
        holds_to(rule, |w: &mut Book, g, t| {
            w.theta -= rule.rate * rule.decay * w.theta;
            w.adam(&rule, g, t)
        });
    }

    #[test]
    fn a_gradient_without_a_history_saturates_it() {
        // Alone in both moments, it brings the ratio to the limit itself, whatever its size.
        for step in [1, 100] {
            let direction = AdamW::default().direction(step, 0.5);
            assert!(direction.element(3.0, 0.0, 0.0).1 && direction.element(-3e-4, 0.0, 0.0).1);
            assert!(!direction.element(3e-4, 0.0, 1.0).1);
        }
    }
}
