//! Configurations that describe no quadrotor.

use std::borrow::Cow;

use backcut_engine::TraceError;
use backcut_text::Hinted;

use super::MAX_STEPS;
use crate::settings::SettingsError;

/// Why a configuration cannot run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum QuadrotorError {
    /// Neither a number nor `hidden`.
    #[error("`{0}` is no velocity reading: give its noise in m/s, or `hidden`")]
    Reading(String),
    /// Noise that is negative or not finite.
    #[error("velocity noise of {0} m/s: it is finite and not below zero")]
    Noise(f64),
    /// A spread that is negative or not finite.
    #[error("initial spread `{name}` is {value}")]
    Spread {
        /// Which.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// A size out of range.
    #[error("`{name}` is {value}")]
    Size {
        /// Which.
        name: &'static str,
        /// What was given.
        value: usize,
    },
    /// A policy that does not go together, or with its window.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The trace refused the policy.
    #[error("the policy does not fit: {0}")]
    Policy(#[from] TraceError),
}

impl Hinted for QuadrotorError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Reading(_) => "write a standard deviation in m/s, as 0.20, or `hidden`".into(),
            Self::Noise(_) => "the standard deviation is a finite number of m/s, 0 or more".into(),
            Self::Spread { .. } => "a spread is a finite number, 0 or more".into(),
            Self::Size { name: "policy.steps", .. } => {
                format!("a rollout has 1 to {MAX_STEPS} steps").into()
            }
            Self::Size { name: "policy.heads", .. } => {
                "the number of heads must divide the policy's width".into()
            }
            Self::Size { .. } => {
                "use 1 to 4096 (width, batch), 1 to 64 (layers), 1 to 16384 (hidden)".into()
            }
            Self::Settings(error) => error.hint(),
            Self::Policy(error) => error.hint(),
        }
    }
}
