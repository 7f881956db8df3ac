//! What SGD, Adam and AdamW add to a stretch of parameters.
//!
//! AdamW is the kernel that training steps with. Adam and SGD follow PyTorch (without Nesterov's variant and
//! dampening): decay is coupled, `g <- factor g + decay theta`; Adam then is AdamW without its own decay,
//! and SGD is `b <- momentum b + g`, `theta <- theta - rate b`.

use backcut_kernels::Real;
use backcut_kernels::optim::{self, AdamW};
use backcut_systems::AdamWSettings;

use super::described::OutsideError;

/// An optimizer with its settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rule {
    /// Adam with decoupled weight decay.
    AdamW(AdamWSettings),
    /// Adam with coupled weight decay.
    Adam(AdamWSettings),
    /// Gradient descent with momentum and coupled weight decay.
    Sgd {
        /// Learning rate.
        rate: f64,
        /// What is kept of the velocity; 0 for plain descent.
        momentum: f64,
        /// Coupled weight decay.
        decay: f64,
    },
}

/// One stretch of everything that an update is made of.
pub(super) struct Stretch<'a, R> {
    pub(super) parameters: &'a [R],
    pub(super) first: &'a [R],
    pub(super) second: &'a [R],
    pub(super) gradient: &'a [R],
}

impl Rule {
    /// The moments that it keeps: first, second.
    pub fn keeps(&self) -> [bool; 2] {
        match self {
            Self::AdamW(_) | Self::Adam(_) => [true, true],
            Self::Sgd { momentum, .. } => [*momentum != 0.0, false],
        }
    }

    /// The settings by which gradients are held against the second moment: those of AdamW, and of Adam
    /// whose decay does not mix the parameters into the gradient.
    pub(super) fn scale(&self) -> Option<AdamWSettings> {
        match *self {
            Self::AdamW(settings) => Some(settings),
            Self::Adam(settings) => (settings.decay == 0.0).then_some(settings),
            Self::Sgd { .. } => None,
        }
    }

    pub(super) fn check(&self) -> Result<(), OutsideError> {
        let wrong = |name: &str, value: f64, hint: &str| {
            Err(OutsideError::new(format!("the optimizer's {name} is {value}"), hint))
        };
        let positive = |name, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                wrong(name, value, "it is a finite number above zero")
            }
        };
        let below_one = |name, value: f64| {
            if (0.0..1.0).contains(&value) {
                Ok(())
            } else {
                wrong(name, value, "it lies in [0, 1)")
            }
        };
        let not_negative = |name, value: f64| {
            if value >= 0.0 && value.is_finite() {
                Ok(())
            } else {
                wrong(name, value, "it is not negative")
            }
        };
        match *self {
            Self::AdamW(s) | Self::Adam(s) => {
                positive("rate", s.rate)?;
                below_one("beta1", s.beta1)?;
                below_one("beta2", s.beta2)?;
                positive("eps", s.eps)?;
                not_negative("decay", s.decay)
            }
            Self::Sgd { rate, momentum, decay } => {
                positive("rate", rate)?;
                below_one("momentum", momentum)?;
                not_negative("decay", decay)
            }
        }
    }

    /// Writes `theta' - theta` of a stretch. `step` counts from 1; `factor` is the clip's.
    pub(super) fn apply<R: Real>(
        &self,
        step: u64,
        factor: R,
        of: &Stretch<R>,
        seen: &mut Vec<R>,
        update: &mut [R],
    ) {
        let Stretch { parameters, first, second, gradient } = *of;
        match *self {
            Self::AdamW(settings) => {
                let scalars = optim::Step::new(&settings.kernel(), step, factor);
                optim::adamw_update_by(scalars, parameters, first, second, gradient, update);
            }
            Self::Adam(settings) => {
                decayed(R::from_f64(settings.decay), factor, parameters, gradient, seen);
                let plain = AdamW { decay: 0.0, ..settings.kernel() };
                let scalars = optim::Step::new(&plain, step, R::ONE);
                optim::adamw_update_by(scalars, parameters, first, second, seen, update);
            }
            Self::Sgd { rate, momentum, decay } => {
                decayed(R::from_f64(decay), factor, parameters, gradient, seen);
                let (rate, momentum) = (R::from_f64(rate), R::from_f64(momentum));
                for (i, update) in update.iter_mut().enumerate() {
                    let before = first.get(i).copied().unwrap_or(R::ZERO);
                    let velocity = momentum.mul_add(before, seen[i]);
                    *update = (parameters[i] - rate * velocity) - parameters[i];
                }
            }
        }
    }
}

/// The gradient that a rule with coupled decay sees.
fn decayed<R: Real>(decay: R, factor: R, parameters: &[R], gradient: &[R], seen: &mut Vec<R>) {
    seen.clear();
    seen.extend(
        parameters.iter().zip(gradient).map(|(theta, g)| decay.mul_add(*theta, *g * factor)),
    );
}
