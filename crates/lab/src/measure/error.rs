//! Why a measurement was not made.

use std::borrow::Cow;

use backcut_engine::{BackwardError, ForwardError, RollError, WrongLength};
use backcut_systems::SampleError;
use backcut_text::Hinted;

/// Why a measurement was not made.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The measurement does not fit the system.
    #[error("{0}")]
    Unfit(String),
    /// The batch or the panel could not be drawn.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The batch could not be rolled.
    #[error("the batch of update {update}: {source}")]
    Roll {
        /// The update, counted from 1 as in the log.
        update: u64,
        /// Trajectory and step.
        source: RollError,
    },
    /// The panel could not be rolled.
    #[error("the panel: {0}")]
    Panel(RollError),
    /// A cut or decomposition that the program cannot honour, or a number that is not finite.
    #[error(transparent)]
    Backward(#[from] BackwardError),
    /// The forward does not fit the program.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// A state of another program.
    #[error(transparent)]
    Length(#[from] WrongLength),
}

impl Hinted for MeasureError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unfit(_) => "choose other names, cuts or another measurement",
            Self::Sample(_) => "the system's data do not hold what its settings ask for",
            Self::Roll { .. } => "the policy leaves its range on this batch: choose another state",
            Self::Panel(_) => "the policy leaves its range on the panel: choose another state",
            Self::Backward(source) => return source.hint(),
            Self::Forward(source) => return source.hint(),
            Self::Length(_) => "the state belongs to a policy of another size",
        }
        .into()
    }

    fn is_bug(&self) -> bool {
        matches!(self, Self::Backward(source) if source.is_bug())
    }
}
