//! A unit's record, read for tables: everything but the errors per trajectory.
//!
//! Ten thousand records are read in seconds because the long lists are skipped and only the seal is
//! checked; `verify` checks the rest.

use backcut_files::Hash;
use backcut_lab::measure::Finding;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::error::StudyError;
use crate::program::Ran;
use crate::record::Point;
use crate::store::{Recorded, Store};
use crate::unit::UnitId;

/// What tables need of a record.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The outcome.
    pub outcome: OutcomeSummary,
    /// SHA-256 of definition and outcome.
    pub content: Hash,
    /// The ledger's head when it began.
    pub head: Hash,
    /// Seconds of computing.
    pub seconds: f64,
    /// What a program reported of itself.
    pub provenance: Map<String, Value>,
}

/// An outcome without its long lists.
#[derive(Clone, PartialEq, Debug)]
pub enum OutcomeSummary {
    /// Trained.
    Trained {
        /// Updates that were clipped.
        clipped: u64,
        /// Mean error by update.
        evaluations: Vec<(u64, f64)>,
    },
    /// Measured.
    Measured {
        /// What was found.
        findings: Vec<Finding>,
    },
    /// A program ran.
    Ran {
        /// Value by update.
        evaluations: Vec<(u64, f64)>,
        /// What else it found.
        findings: Vec<Finding>,
    },
    /// Failed.
    Failed {
        /// Why.
        what: String,
    },
}

#[derive(Deserialize)]
struct Partial {
    unit: UnitId,
    outcome: PartialOutcome,
    content: Hash,
    head: Hash,
    seconds: f64,
    #[serde(default)]
    ran: Option<Ran>,
}

#[derive(Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
enum PartialOutcome {
    Trained { clipped: u64, evaluations: Vec<PartialEvaluation> },
    Measured { findings: Vec<Finding> },
    Ran { curve: Vec<Point>, findings: Vec<Finding> },
    Failed { what: String },
}

#[derive(Deserialize)]
struct PartialEvaluation {
    update: u64,
    mean: f64,
    #[serde(rename = "errors")]
    _errors: IgnoredAny,
}

impl Summary {
    /// Reads a record for tables.
    pub fn load(store: &Store, id: &UnitId, recorded: Recorded) -> Result<Self, StudyError> {
        let path = store.record(id, recorded);
        let text = backcut_files::read_text(&path).map_err(StudyError::io(&path))?;
        let sealed = text.strip_suffix('\n').and_then(|t| t.rsplit_once('\n'));
        let (json, _) = sealed
            .filter(|(json, seal)| Hash::of(json.as_bytes()).to_string() == *seal)
            .ok_or_else(|| StudyError::damaged(&path, "its seal does not match its content"))?;
        let partial: Partial =
            serde_json::from_str(json).map_err(|e| StudyError::damaged(&path, e))?;
        let outcome = match partial.outcome {
            PartialOutcome::Trained { clipped, evaluations } => {
                let evaluations = evaluations.iter().map(|e| (e.update, e.mean)).collect();
                OutcomeSummary::Trained { clipped, evaluations }
            }
            PartialOutcome::Measured { findings } => OutcomeSummary::Measured { findings },
            PartialOutcome::Ran { curve, findings } => {
                let evaluations = curve.iter().map(|p| (p.update, p.value)).collect();
                OutcomeSummary::Ran { evaluations, findings }
            }
            PartialOutcome::Failed { what } => OutcomeSummary::Failed { what },
        };
        let is_failure = matches!(outcome, OutcomeSummary::Failed { .. });
        if partial.unit != *id || is_failure != (recorded == Recorded::Failed) {
            let what = "it is the record of another unit, or of another outcome";
            return Err(StudyError::damaged(&path, what));
        }
        let Partial { content, head, seconds, ran, .. } = partial;
        let provenance = ran.map(|ran| ran.provenance).unwrap_or_default();
        Ok(Self { outcome, content, head, seconds, provenance })
    }
}
