//! A rate that changes with the optimizer's own count of steps.

use backcut_kernels::math;
use serde::{Deserialize, Serialize};

/// The way from the full rate to the last one.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decay {
    /// Half a cosine.
    #[default]
    Cosine,
    /// A straight line.
    Linear,
}

/// A rate that changes with the optimizer's own count of steps, which begins anew with every phase.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Steps on which the rate rises in a straight line; the last of them has the full rate.
    #[serde(default)]
    pub warmup: u64,
    /// The step at which the last rate is reached; it stays.
    pub until: u64,
    /// The last rate.
    pub end: f64,
    /// How it gets there.
    #[serde(default)]
    pub decay: Decay,
}

impl Schedule {
    /// The rate of a step, counted from 1.
    pub(super) fn rate(&self, full: f64, step: u64) -> f64 {
        if step < self.warmup {
            return full * step as f64 / self.warmup as f64;
        }
        if step >= self.until {
            return self.end;
        }
        let done = (step - self.warmup) as f64 / (self.until - self.warmup) as f64;
        let left = match self.decay {
            Decay::Cosine => 0.5 * (1.0 + math::f64::cos(std::f64::consts::PI * done)),
            Decay::Linear => 1.0 - done,
        };
        self.end + (full - self.end) * left
    }
}
