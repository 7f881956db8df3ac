//! How a gradient becomes an update, as files say it.

use backcut_kernels::optim;
use serde::{Deserialize, Serialize};

/// AdamW's settings as a configuration file holds them. The default is the quadrotor study's.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamWSettings {
    /// Learning rate.
    pub rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay, on every tensor.
    pub decay: f64,
}

impl Default for AdamWSettings {
    fn default() -> Self {
        Self { rate: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.01 }
    }
}

impl AdamWSettings {
    /// As the kernels take them.
    pub fn kernel(self) -> optim::AdamW {
        let Self { rate, beta1, beta2, eps, decay } = self;
        optim::AdamW { rate, beta1, beta2, eps, decay }
    }
}

/// How a gradient becomes an update.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimizer {
    /// AdamW.
    pub adamw: AdamWSettings,
    /// Threshold c of the global-norm clip: the gradient is multiplied by `min(1, c / norm)`.
    pub clip: f64,
}

impl Default for Optimizer {
    /// AdamW's defaults, and a clip at norm 1.
    fn default() -> Self {
        Self { adamw: AdamWSettings::default(), clip: 1.0 }
    }
}

impl Optimizer {
    /// The first setting that makes no sense, with the reason.
    pub fn check(&self) -> Result<(), String> {
        let AdamWSettings { rate, beta1, beta2, eps, decay } = self.adamw;
        let say = |name: &str, value: f64, want: &str| Err(format!("{name} = {value}, not {want}"));
        if !(rate > 0.0 && rate.is_finite()) {
            return say("optimizer.adamw.rate", rate, "a positive number");
        }
        for (name, beta) in [("beta1", beta1), ("beta2", beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return say(&format!("optimizer.adamw.{name}"), beta, "in [0, 1)");
            }
        }
        if !(eps > 0.0 && eps.is_finite()) {
            return say("optimizer.adamw.eps", eps, "a positive number");
        }
        if !(decay >= 0.0 && rate * decay < 1.0) {
            return say("optimizer.adamw.decay", decay, "at least 0 with rate * decay below 1");
        }
        if !(self.clip > 0.0 && self.clip.is_finite()) {
            return say("optimizer.clip", self.clip, "a positive number");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let fine = Optimizer::default();
        assert_eq!(fine.check(), Ok(()));
        let bad = Optimizer { clip: f64::NAN, ..fine };
        assert!(bad.check().unwrap_err().contains("optimizer.clip"));
        let adamw = AdamWSettings { beta2: 1.0, ..fine.adamw };
        assert!(Optimizer { adamw, ..fine }.check().unwrap_err().contains("beta2"));
    }
}
