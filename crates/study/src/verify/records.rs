//! Records, what lies beside them, and what they started from.

use std::collections::HashMap;
use std::path::Path;

use backcut_evidence::ledger::Ledger;
use backcut_files::Hash;
use backcut_files::target_of;
use backcut_lab::training::{Checkpoint, Folder};

use super::Verified;
use crate::error::StudyError;
use crate::parent;
use crate::record::{Outcome, Record, Started};
use crate::store::{Recorded, Store, list};
use crate::unit::{Definition, UnitId};

/// Verifies every record of a folder, and that nothing else lies among them.
pub(super) fn verify(
    store: &Store,
    ids: &[(UnitId, Recorded)],
    ledger: Option<&Ledger>,
    verified: &mut Verified,
) -> Result<(), StudyError> {
    let mut starts = Starts { store, logged: HashMap::new() };
    for (id, recorded) in ids {
        let record = match Record::load(store, id, *recorded) {
            Ok(record) => record,
            Err(error) => {
                verified.problem(error);
                continue;
            }
        };
        verified.records += 1;
        let path = store.record(id, *recorded);
        verify_record(&record, *recorded, &path, ledger, verified);
        verify_beside(store, &record, verified)?;
        for started in &record.started {
            starts.verify(started, &path, verified);
        }
        let needs = record.definition.needs().count();
        if record.started.len() < needs && *recorded == Recorded::Done {
            let what = "it does not say which parameters it started from";
            verified.problem(format!("{}: {what}", path.display()));
        }
    }
    strays(store, verified)
}

fn verify_record(
    record: &Record,
    recorded: Recorded,
    path: &Path,
    ledger: Option<&Ledger>,
    verified: &mut Verified,
) {
    if record.recorded() != recorded {
        verified.problem(format!("{}: its name does not say its state", path.display()));
    }
    if let Outcome::Trained { evaluations, .. } = &record.outcome {
        for evaluation in evaluations {
            let again = backcut_lab::training::Panel::new(evaluation.errors.clone()).mean;
            if again.to_bits() != evaluation.mean.to_bits() {
                let at = evaluation.update;
                verified.problem(format!(
                    "{}: the mean at update {at} is not that of its errors",
                    path.display()
                ));
            }
        }
    }
    let is_program = matches!(record.definition, Definition::Command(_));
    let ran = matches!(record.outcome, Outcome::Ran { .. });
    let trained = matches!(record.outcome, Outcome::Trained { .. } | Outcome::Measured { .. });
    if is_program && trained || !is_program && ran {
        verified.problem(format!("{}: its outcome is not of its kind", path.display()));
    }
    let head: Option<Hash> = record.head.parse().ok();
    let is_known = head.is_some_and(|h| h == Hash::ZERO || ledger.is_some_and(|l| l.contains(h)));
    if !is_known {
        verified
            .problem(format!("{}: it ran under a head that is not in the ledger", path.display()));
    }
}

/// The files beside a record: as listed, none besides, and every state that of this very unit.
fn verify_beside(
    store: &Store,
    record: &Record,
    verified: &mut Verified,
) -> Result<(), StudyError> {
    let folder = store.beside(&record.unit);
    for file in &record.files {
        let beside = folder.path().join(&file.name);
        verified.files += 1;
        match backcut_files::read(&beside) {
            Ok(bytes) if Hash::of(&bytes).to_string() != file.sha256 => {
                verified
                    .problem(format!("{}: changed since the record was made", beside.display()));
            }
            Ok(_) => verify_state(store, record, &beside, verified),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let what = "removed; it is computed again when needed";
                verified.note(format!("{}: {what}", beside.display()));
            }
            Err(error) => verified.problem(format!("{}: {error}", beside.display())),
        }
    }
    for name in list(folder.path())? {
        let is_listed = record.files.iter().any(|file| file.name == name);
        if !is_listed && target_of(&name).is_none() {
            let path = folder.path().join(&name);
            verified.problem(format!("{}: the record does not list it", path.display()));
        }
    }
    Ok(())
}

/// A kept state is the unit's own, by its definition and its log.
fn verify_state(store: &Store, record: &Record, path: &Path, verified: &mut Verified) {
    let Some(update) = Folder::kept_update(path) else { return };
    let checkpoint = match Checkpoint::load(path) {
        Ok(checkpoint) => checkpoint,
        Err(error) => return verified.problem(error),
    };
    if store.beside(&record.unit).log().exists()
        && let Err(error) = parent::check(store, record, update, path, &checkpoint)
    {
        verified.problem(error);
    }
}

/// What units started from, against the logs of the units whose states they were.
struct Starts<'a> {
    store: &'a Store,
    /// Fingerprints by unit and update; none where the log is gone.
    logged: HashMap<(UnitId, u64), Option<String>>,
}

impl Starts<'_> {
    fn verify(&mut self, started: &Started, path: &Path, verified: &mut Verified) {
        let Started { unit, update, parameters } = started;
        let store = self.store;
        let logged = self.logged.entry((*unit, *update)).or_insert_with(|| {
            let record = Record::load(store, unit, Recorded::Done).ok()?;
            parent::logged(store, &record, *update).ok()?
        });
        match logged {
            Some(hash) if hash == parameters => {}
            Some(_) => verified.problem(format!(
                "{}: it started from other parameters than unit {} had after update {update}",
                path.display(),
                unit.short()
            )),
            None => verified.note(format!(
                "{}: what it started from, unit {}, has no log here",
                path.display(),
                unit.short()
            )),
        }
    }
}

/// Files among the records that nobody knows, and failures beside results.
fn strays(store: &Store, verified: &mut Verified) -> Result<(), StudyError> {
    let units = store.root().join("units");
    for shelf in list(&units)? {
        let folder = units.join(&shelf);
        if !folder.is_dir() {
            verified.problem(format!("{}: no file of a results folder", folder.display()));
            continue;
        }
        let names = list(&folder)?;
        for name in &names {
            let path = folder.join(name);
            let (id, state) = name.split_once('.').unwrap_or((name, ""));
            let is_ours =
                id.parse::<UnitId>().is_ok_and(|id| format!("{:02x}", id.first()) == shelf)
                    && ["", "done.json", "failed.json"].contains(&state);
            if !is_ours && target_of(name).is_none() {
                verified.problem(format!("{}: no file of a results folder", path.display()));
            }
            let is_done = |end: &str| names.contains(&format!("{id}.{end}.json"));
            if state == "failed.json" && is_done("done") {
                verified.problem(format!("{}: a failure beside a result", path.display()));
            }
            if is_ours && state.is_empty() && !is_done("done") && !is_done("failed") {
                verified.note(format!("{}: states of a unit without a record", path.display()));
            }
        }
    }
    Ok(())
}
