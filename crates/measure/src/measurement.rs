//! Measurements as values: what a study file or the command line asks for.

use backcut_engine::Cut;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::subject::Subject;

/// What to measure at a state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Measurement {
    /// Gradients under cuts: norms, ratios, differences, cosines, per parameter group.
    Gradient {
        /// The cuts; FF is always added as the reference.
        cuts: Vec<Cut>,
    },
    /// Updates as the optimizer applies them, under cuts.
    Update {
        /// The cuts; FF is always added as the reference.
        cuts: Vec<Cut>,
    },
    /// Gains of the physical chain from closed-loop state Jacobians.
    Chain {},
    /// Evaluation with shorter memory than the policy was trained with.
    Masking {
        /// Positions that stay visible, the current one included.
        windows: Vec<usize>,
    },
    /// Evaluation with the history of another trajectory of the panel.
    Donor {},
    /// Ridge probes of the stored representations for the true velocity.
    Probe {
        /// On the observations of the reference subject instead of the policy's own.
        #[serde(default)]
        common: bool,
    },
    /// Attention mass on earlier positions, per layer and head.
    Attention {},
    /// Norm of some input columns of a weight.
    InputWeight {
        /// The parameter's name.
        parameter: String,
        /// The first input column and the one after the last.
        columns: [usize; 2],
    },
}

impl Measurement {
    /// It compares with a second subject.
    pub fn needs_reference(&self) -> bool {
        matches!(self, Self::Probe { common: true })
    }
}

/// Why a measurement was not made.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The measurement does not fit the system.
    #[error("{0}")]
    Unfit(String),
}

/// Makes a measurement. The same subject gives the same bits.
pub fn measure(
    measurement: &Measurement,
    subject: &Subject,
    reference: Option<&Subject>,
) -> Result<Vec<Finding>, MeasureError> {
    let _ = (subject, reference);
    Err(MeasureError::Unfit(format!("{measurement:?} is not built yet")))
}
