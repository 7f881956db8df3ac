//! What can be wrong with a vessel's settings or data.

use std::borrow::Cow;

use crate::AisError;
use backcut_engine::TraceError;
use backcut_text::Hinted;

use backcut_systems::SettingsError;

/// Why a vessel cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum VesselError {
    /// A size out of its range.
    #[error("{name} = {value} is not possible")]
    Size {
        /// The setting.
        name: &'static str,
        /// What was asked for.
        value: usize,
    },
    /// Noise that is no standard deviation.
    #[error("noise = {0} is no share of the velocity")]
    Noise(f64),
    /// A window of a policy that reads no positions.
    #[error(transparent)]
    Window(#[from] SettingsError),
    /// The tracks cannot be had.
    #[error(transparent)]
    Data(#[from] AisError),
    /// No window to learn from, or none to evaluate.
    #[error("no {part} segment has a window of {steps} steps in which the vessel moves")]
    NoWindow {
        /// Training, development or evaluation.
        part: &'static str,
        /// Steps of a window.
        steps: usize,
    },
    /// All vessels lie still.
    #[error("velocities of the training segments do not change")]
    Still,
    /// The step does not compile.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl Hinted for VesselError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Size { .. } => {
                "the guide to the vessel lists sizes; heads divide the width".into()
            }
            Self::Noise(_) => "0 is exact; 0.1 is a tenth of the training velocities' RMS".into(),
            Self::Window(error) => error.hint(),
            Self::Data(error) => error.hint().into_owned().into(),
            Self::NoWindow { .. } | Self::Still => {
                "take more or longer tracks, or shorter windows".into()
            }
            Self::Trace(error) => error.hint().into_owned().into(),
        }
    }
}
