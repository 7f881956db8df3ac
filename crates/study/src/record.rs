//! The record of a unit: one file, sealed, that says what was computed, what came out, and under
//! which head of the ledger.
//!
//! Two lines: the record as JSON, and the SHA-256 of that line, so that a changed byte is found.
//! The **content** hash covers the definition and the outcome alone. It does not depend on when,
//! where and for which study the unit was computed: equal content is the same result.

use std::path::Path;

use backcut_lab::measure::Finding;
use backcut_lab::training::config::canonical;
use backcut_lab::training::sha256;
use serde::{Deserialize, Serialize};

use crate::error::StudyError;
use crate::program::Ran;
use crate::store::{Recorded, Store, publish};
use crate::unit::{Definition, UnitId};

/// The format of what a program computed.
const FORMAT: u32 = 3;
/// The format of all other records: what has not changed is not called new.
const FORMAT_OF_OTHERS: u32 = 2;

/// One evaluation of the panel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// Updates done.
    pub update: u64,
    /// Mean error over the panel.
    pub mean: f64,
    /// Errors per trajectory.
    pub errors: Vec<f64>,
}

/// A value that a program gave.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Updates done.
    pub update: u64,
    /// The value.
    pub value: f64,
}

/// What came out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase", deny_unknown_fields)]
pub enum Outcome {
    /// Training ran to its end.
    Trained {
        /// Updates of this unit.
        updates: u64,
        /// How many of them were clipped.
        clipped: u64,
        /// Fingerprint of the final parameters.
        parameters: String,
        /// SHA-256 of the log.
        log: String,
        /// Evaluations, in order.
        evaluations: Vec<Evaluation>,
    },
    /// The measurement was made.
    Measured {
        /// What was found.
        findings: Vec<Finding>,
    },
    /// A program ran to its end.
    Ran {
        /// Its values, in order; the last is the one after its last update.
        curve: Vec<Point>,
        /// What else it found.
        findings: Vec<Finding>,
    },
    /// It failed, and would fail again.
    Failed {
        /// What happened, with the first bad update and step.
        what: String,
        /// What could be done about it.
        hint: String,
    },
}

/// A file that lies beside the record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptFile {
    /// Its name.
    pub name: String,
    /// Its SHA-256.
    pub sha256: String,
}

/// A state that a unit started from, as it was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// The unit that it is a state of.
    pub unit: UnitId,
    /// Updates done.
    pub update: u64,
    /// Fingerprint of its parameters, as that unit's log has it.
    pub parameters: String,
}

/// A unit's record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of the format.
    pub version: u32,
    /// The unit.
    pub unit: UnitId,
    /// What defines it.
    pub definition: Definition,
    /// What came out.
    pub outcome: Outcome,
    /// SHA-256 of definition and outcome.
    pub content: String,
    /// The head of the ledger when the unit began.
    pub head: String,
    /// The states that it started from, or measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub started: Vec<Started>,
    /// How a program ran, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<Ran>,
    /// Files beside the record.
    pub files: Vec<KeptFile>,
    /// Seconds of computing, resumed parts included.
    pub seconds: f64,
    /// The version that computed it.
    pub program: String,
}

impl Record {
    /// A record of an outcome.
    pub fn new(definition: Definition, outcome: Outcome, head: String) -> Self {
        let unit = definition.id();
        let content = content(&definition, &outcome);
        let program = format!("backcut {}", env!("CARGO_PKG_VERSION"));
        let version = match definition {
            Definition::Command(_) => FORMAT,
            Definition::Train(_) | Definition::Measure(_) => FORMAT_OF_OTHERS,
        };
        Self {
            version,
            unit,
            definition,
            outcome,
            content,
            head,
            started: Vec::new(),
            ran: None,
            files: Vec::new(),
            seconds: 0.0,
            program,
        }
    }

    /// Whether it is a result or a failure.
    pub fn recorded(&self) -> Recorded {
        match self.outcome {
            Outcome::Failed { .. } => Recorded::Failed,
            Outcome::Trained { .. } | Outcome::Measured { .. } | Outcome::Ran { .. } => {
                Recorded::Done
            }
        }
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StudyError> {
        let json = serde_json::to_string(self).map_err(|error| {
            StudyError::bug(format!("no JSON for the result of {}: {error}", self.unit))
        })?;
        let seal = sha256(json.as_bytes());
        Ok(format!("{json}\n{seal}\n").into_bytes())
    }

    /// Writes it into its place.
    pub fn save(&self, store: &Store) -> Result<(), StudyError> {
        publish(&store.record(&self.unit, self.recorded()), &self.to_bytes()?)
    }

    /// Reads a record and checks its seal, its content hash and its name.
    pub fn load(store: &Store, id: &UnitId, recorded: Recorded) -> Result<Self, StudyError> {
        let path = store.record(id, recorded);
        let bytes = backcut_files::read(&path).map_err(StudyError::io(&path))?;
        let record = Self::read(&path, &bytes)?;
        if record.unit != *id {
            return Err(StudyError::damaged(&path, "it is the record of another unit"));
        }
        Ok(record)
    }

    /// Understands a record's bytes; `path` is for messages.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, StudyError> {
        let damaged = |what: &str| StudyError::damaged(path, what);
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("not text"))?;
        let (json, seal) = text
            .strip_suffix('\n')
            .and_then(|t| t.rsplit_once('\n'))
            .ok_or_else(|| damaged("truncated"))?;
        if sha256(json.as_bytes()) != seal {
            return Err(damaged("its seal does not match its content"));
        }
        let version =
            serde_json::from_str::<Version>(json).map_err(|e| damaged(&e.to_string()))?.version;
        if !(FORMAT_OF_OTHERS..=FORMAT).contains(&version) {
            return Err(damaged(&format!(
                "record format {version}; this build reads {FORMAT_OF_OTHERS} and {FORMAT}"
            )));
        }
        let record: Self = serde_json::from_str(json).map_err(|e| damaged(&e.to_string()))?;
        if record.definition.id() != record.unit {
            return Err(damaged("its definition is not the one it is named by"));
        }
        if content(&record.definition, &record.outcome) != record.content {
            return Err(damaged("its content hash does not match its content"));
        }
        Ok(record)
    }
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn content(definition: &Definition, outcome: &Outcome) -> String {
    let value = serde_json::json!({ "definition": definition, "outcome": outcome });
    sha256(canonical(&value).as_bytes())
}
