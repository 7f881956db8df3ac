//! Lion (Chen et al. 2023, "Symbolic discovery of optimization algorithms"), with decoupled decay:
//! `c <- b1 m + (1-b1) g`; `theta <- theta - lr wd theta - lr sign(c)`; `m <- b2 m + (1-b2) g`.
//!
//! Every weight moves by the rate, whatever its gradient's size, so nothing that a clip does to a
//! first gradient is seen, and rates are smaller than Adam's, by three to ten times in that paper.

use super::{Described, Element, settings};
use crate::Real;
use crate::optim::history::{Directed, Scale};

settings! {
    /// Settings of Lion.
    Lion {
        /// Learning rate.
        rate = 1e-4,
        /// How much of the momentum is in the mix whose sign is the step.
        beta1 = 0.9,
        /// Decay of the momentum.
        beta2 = 0.99,
        /// Decoupled weight decay, applied to every parameter.
        decay = 0.0,
    }
}

/// Scalars of one step.
#[derive(Clone, Copy)]
pub struct Step<R> {
    keep: R,
    rate: R,
    beta1: R,
    beta1_rest: R,
    beta2: R,
    beta2_rest: R,
    factor: R,
}

/// 1, -1, or 0 for a zero. A value that is no number is caught where the gradient's norm is.
#[inline(always)]
fn sign<R: Real>(x: R) -> R {
    let positive = if x > R::ZERO { R::ONE } else { R::ZERO };
    if x < R::ZERO { -R::ONE } else { positive }
}

impl<R: Real> Element<R> for Step<R> {
    const WRITES: usize = 1;

    #[inline(always)]
    fn element(&self, theta: R, m: R, second: R, g: R) -> (R, R, R) {
        let gradient = g * self.factor;
        let mix = self.beta1.mul_add(m, self.beta1_rest * gradient);
        let momentum = self.beta2.mul_add(m, self.beta2_rest * gradient);
        (theta * self.keep - self.rate * sign(mix), momentum, second)
    }
}

/// The sign of the mix: as large as it can be wherever it is not zero.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Direction {
    old: f32,
    new: f32,
}

impl Directed for Direction {
    #[inline(always)]
    fn element(&self, g: f32, m: f32, _: f32) -> (f32, bool) {
        let direction = sign(self.old * m + self.new * g);
        (direction, direction != 0.0)
    }
}

impl Described for Lion {
    type Step<R: Real> = Step<R>;
    type Direction = Direction;
    const TITLE: &'static str = "Lion";
    const MEMORY: &'static [&'static str] = &["momentum"];
    const SETTINGS: &'static [&'static str] = Self::SETTINGS;

    fn setting(&mut self, name: &str) -> Option<&mut f64> {
        self.by_name(name)
    }

    fn step<R: Real>(&self, _: u64, factor: R) -> Step<R> {
        let Self { rate, beta1, beta2, decay } = *self;
        Step {
            keep: R::from_f64(1.0 - rate * decay),
            rate: R::from_f64(rate),
            beta1: R::from_f64(beta1),
            beta1_rest: R::from_f64(1.0 - beta1),
            beta2: R::from_f64(beta2),
            beta2_rest: R::from_f64(1.0 - beta2),
            factor,
        }
    }

    fn direction(&self, _: u64, factor: f64) -> Direction {
        Direction { old: self.beta1 as f32, new: ((1.0 - self.beta1) * factor) as f32 }
    }

    fn scale(&self, _: u64) -> Result<Scale, &'static str> {
        Err("not defined for Lion: it keeps no second moment")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::rule::tests::holds_to;

    #[test]
    fn it_is_its_formula() {
        for decay in [0.0, 0.1] {
            let rule = Lion { rate: 3e-3, decay, ..Lion::default() };
            holds_to(rule, |w, g, _| {
                let mix = rule.beta1 * w.first + (1.0 - rule.beta1) * g;
                w.first = rule.beta2 * w.first + (1.0 - rule.beta2) * g;
                w.theta -= rule.rate * (rule.decay * w.theta + mix.signum());
                (g, mix.signum())
            });
        }
    }

    #[test]
    fn a_weight_whose_mix_is_zero_stays() {
        let step = Lion { decay: 0.0, ..Lion::default() }.step(1, 1.0_f32);
        assert_eq!(step.element(0.5, 0.0, 0.0, 0.0), (0.5, 0.0, 0.0));
        assert_eq!(Lion::default().direction(1, 1.0).element(0.0, 0.0, 0.0), (0.0, false));
    }
}
