//! A unit's record, read for tables: everything but the errors per trajectory.
//!
//! Ten thousand records are read in seconds because the long lists are skipped and only the seal is
//! checked; `verify` checks the rest.

use backcut_files::Hash;
use backcut_lab::measure::Finding;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::StudyError;
use crate::program::Ran;
use crate::store::{Recorded, Store};
use crate::unit::UnitId;

/// What tables need of a record.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// What came out.
    pub outcome: Outcome,
    /// SHA-256 of definition and outcome.
    pub content: Hash,
    /// The ledger's head when it began.
    pub head: Hash,
    /// Seconds of computing.
    pub seconds: f64,
    /// What a program reported of itself.
    pub provenance: Map<String, Value>,
}

/// What came out of a unit, whatever it did: nothing but why, if it failed.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Updates that were clipped, if it trained here.
    pub clipped: Option<u64>,
    /// Errors by update.
    #[serde(alias = "curve")]
    pub evaluations: Vec<Evaluation>,
    /// What was measured.
    pub findings: Vec<Finding>,
    /// Why it failed.
    #[serde(rename = "what")]
    pub failure: Option<String>,
}

/// An error after an update.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Evaluation {
    /// Updates done.
    pub update: u64,
    /// Its mean over the panel.
    #[serde(alias = "value")]
    pub mean: f64,
}

/// What is read of a record's file; the rest is skipped.
#[derive(Deserialize)]
struct Read {
    unit: UnitId,
    outcome: Outcome,
    content: Hash,
    head: Hash,
    seconds: f64,
    #[serde(default)]
    ran: Option<Ran>,
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
        let Read { unit, outcome, content, head, seconds, ran } =
            serde_json::from_str(json).map_err(|e| StudyError::damaged(&path, e))?;
        if unit != *id || outcome.failure.is_some() != (recorded == Recorded::Failed) {
            let what = "it is the record of another unit, or of another outcome";
            return Err(StudyError::damaged(&path, what));
        }
        let provenance = ran.map(|ran| ran.provenance).unwrap_or_default();
        Ok(Self { outcome, content, head, seconds, provenance })
    }
}
