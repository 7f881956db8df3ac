//! The file that a program gets.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::StudyError;
use crate::program::{Commanded, PROTOCOL};
use crate::store::{Store, jot};
use crate::unit::UnitId;

/// The environment variable that names the file.
pub const VARIABLE: &str = "BACKCUT_UNIT";

#[derive(Serialize)]
struct Handover<'a> {
    version: u32,
    unit: UnitId,
    arm: &'a str,
    condition: &'a str,
    seed: u64,
    updates: u64,
    evaluate: &'a [u64],
    settings: &'a Map<String, Value>,
    result: &'a Path,
    progress: &'a Path,
    checkpoint: &'a Path,
}

/// The files that backcut and a program exchange, in the unit's working folder.
pub(super) struct Exchange {
    pub(super) unit: PathBuf,
    pub(super) result: PathBuf,
    pub(super) progress: PathBuf,
    pub(super) checkpoint: PathBuf,
    /// The process that computes it, so that it can be found if it outlives its parent.
    pub(super) process: PathBuf,
    /// The ledger's head when it first began, and the seconds since then.
    pub(super) about: PathBuf,
}

impl Exchange {
    /// The files of a unit; absolute, because the program runs elsewhere.
    pub(super) fn new(store: &Store, id: &UnitId) -> Result<Self, StudyError> {
        let folder = store.work(id);
        let folder = std::path::absolute(folder.path()).map_err(StudyError::io(folder.path()))?;
        Ok(Self {
            unit: folder.join("unit.json"),
            result: folder.join("result.json"),
            progress: folder.join("progress"),
            checkpoint: folder.join("checkpoint"),
            process: folder.join("process"),
            about: folder.join("about"),
        })
    }

    /// Writes what the program gets, and removes what an earlier attempt may have answered.
    pub(super) fn hand_over(&self, id: &UnitId, what: &Commanded) -> Result<(), StudyError> {
        std::fs::create_dir_all(&self.checkpoint).map_err(StudyError::io(&self.checkpoint))?;
        for path in [&self.result, &self.progress] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StudyError::io(path)(error));
                }
                _ => {}
            }
        }
        let text = serde_json::to_string_pretty(&Handover {
            version: PROTOCOL,
            unit: *id,
            arm: &what.arm,
            condition: &what.condition,
            seed: what.seed,
            updates: what.updates,
            evaluate: &what.evaluations,
            settings: &what.settings,
            result: &self.result,
            progress: &self.progress,
            checkpoint: &self.checkpoint,
        });
        jot(&self.unit, text.map_err(StudyError::bug)?.as_bytes())
    }
}
