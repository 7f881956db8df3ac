//! States that units start from, each tied to the unit that it is a state of.
//!
//! A checkpoint proves only that it is whole. That it is *this* unit's state after *that* update is
//! told by the unit's record: its definition, the SHA-256 of the file, and the log (whose own hash
//! is part of the result), which holds the fingerprint of the parameters after every update.

use std::path::Path;

use backcut_lab::training::{Checkpoint, Restored, log, sha256};
use backcut_systems::Catalogue;

use crate::error::StudyError;
use crate::record::{Outcome, Record, Started};
use crate::store::{Recorded, Store};
use crate::unit::{Definition, StateOf};

/// A state with what says whose it is.
pub(crate) struct Parent {
    pub(crate) state: Restored,
    pub(crate) started: Started,
}

impl Parent {
    /// Reads a state of a unit and checks that it is one.
    pub(crate) fn load(
        store: &Store,
        catalogue: &Catalogue,
        of: StateOf,
    ) -> Result<Self, StudyError> {
        let path = store.checkpoint(&of.unit, of.update);
        let checkpoint = Checkpoint::load(&path).map_err(StudyError::from_hinted)?;
        let record = Record::load(store, &of.unit, Recorded::Done)?;
        check(store, &record, of.update, &path, &checkpoint)?;
        let state = Restored::new(catalogue, &checkpoint).map_err(StudyError::from_hinted)?;
        let parameters = checkpoint.header().parameter_hash.clone();
        Ok(Self { state, started: Started { unit: of.unit, update: of.update, parameters } })
    }
}

/// That a checkpoint is a unit's state after an update, by the unit's record.
pub(crate) fn check(
    store: &Store,
    record: &Record,
    update: u64,
    path: &Path,
    checkpoint: &Checkpoint,
) -> Result<(), StudyError> {
    let foreign = |what: &str| {
        let what = format!("it is not the state of unit {} there: {what}", record.unit.short());
        Err(StudyError::damaged(path, what))
    };
    let Definition::Train(run) = &record.definition else {
        return foreign("that unit trains nothing");
    };
    let header = checkpoint.header();
    if header.update != update {
        return foreign(&format!("it was made after update {}", header.update));
    }
    let started = header.config.start.as_ref().map(|start| start.update);
    let same = header.config.clone().starting(None::<()>) == run.clone().starting(None::<()>);
    if !same || started != run.start.map(|start| start.update) {
        return foreign("it belongs to a run of another definition");
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(listed) = record.files.iter().find(|file| file.name == name) {
        let bytes = backcut_files::read(path).map_err(StudyError::io(path))?;
        if sha256(&bytes) != listed.sha256 {
            return foreign("it was changed since the record was made");
        }
    }
    match logged(store, record, update)? {
        Some(hash) if hash == header.parameter_hash => Ok(()),
        Some(_) => foreign("the unit's log has other parameters after that update"),
        None => foreign("the unit's log does not have that update"),
    }
}

/// The fingerprint of the parameters after an update, from a unit's log; none if the log does not
/// have it.
pub(crate) fn logged(
    store: &Store,
    record: &Record,
    update: u64,
) -> Result<Option<String>, StudyError> {
    let Outcome::Trained { log: hash, .. } = &record.outcome else { return Ok(None) };
    let path = store.beside(&record.unit).log();
    let bytes = backcut_files::read(&path).map_err(StudyError::io(&path))?;
    if sha256(&bytes) != *hash {
        return Err(StudyError::damaged(&path, "changed since the record was made"));
    }
    let records = log::read(&path).map_err(StudyError::from_hinted)?;
    let found = records.iter().find(|record| record.update.update == update);
    Ok(found.map(|record| format!("{:016x}", record.update.hash)))
}
