//! The configuration as written, and the check that only a sound one passes.

use std::borrow::Cow;

use backcut_text::Hinted;
use serde::{Deserialize, Serialize};

use super::Analytic;
use backcut_systems::{Quantity, Settings, SettingsError};

/// An analytic system as written in a file; [`check`](Self::check) makes it run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnalyticConfig {
    /// How strongly recalled memory moves the physical state (`kappa`).
    pub coupling: f64,
    /// Steps of a rollout.
    pub steps: usize,
    /// Trajectories of a training batch.
    pub batch: usize,
}

impl Default for AnalyticConfig {
    /// 16 steps: three times the horizon over which `A^t` falls to one half, so credit has room to
    /// travel, and short enough that thousands of updates take a second.
    fn default() -> Self {
        Self { coupling: 1.0, steps: 16, batch: 8 }
    }
}

/// A configuration that makes no sense.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum AnalyticError {
    /// Not a number to multiply with.
    #[error("a coupling of {0}")]
    Coupling(f64),
    /// A size out of range.
    #[error("{name} = {value}")]
    Size {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: usize,
    },
    /// The step does not compile.
    #[error(transparent)]
    Trace(#[from] backcut_engine::TraceError),
}

impl Hinted for AnalyticError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Coupling(_) => "choose a finite coupling, such as 0.5",
            Self::Size { .. } => "steps and batch lie between 1 and 4096",
            Self::Trace(error) => return error.hint(),
        }
        .into()
    }
}

impl AnalyticConfig {
    /// The system, if the configuration is sound.
    pub fn check(self) -> Result<Analytic, AnalyticError> {
        if !self.coupling.is_finite() {
            return Err(AnalyticError::Coupling(self.coupling));
        }
        let sizes = [("steps", self.steps), ("batch", self.batch)];
        if let Some((name, value)) = sizes.into_iter().find(|(_, n)| !(1..=4096).contains(n)) {
            return Err(AnalyticError::Size { name, value });
        }
        Analytic::new(self)
    }
}

impl Settings for AnalyticConfig {
    const NAME: &'static str = "analytic";

    type System = Analytic;

    fn build(&mut self) -> Result<Analytic, SettingsError> {
        self.check().map_err(SettingsError::from_hinted)
    }

    fn error(&self) -> Quantity {
        Quantity { name: "mean squared state", unit: "" }
    }
}
