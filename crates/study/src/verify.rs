//! Is the folder what it claims to be? Hashes, chain, commitments, completeness, versions.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use backcut_ledger::{Hash, Ledger};
use backcut_training::Checkpoint;

use crate::commit::noted;
use crate::error::StudyError;
use crate::record::{Outcome, Record};
use crate::store::{Recorded, Store, list};
use crate::unit::UnitId;

/// What a verification found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Everything that is wrong, with the file.
    pub problems: Vec<String>,
    /// What is worth knowing and wrong with nothing.
    pub notes: Vec<String>,
    /// Records that were read.
    pub records: usize,
    /// Files beside them.
    pub files: usize,
    /// Table files.
    pub tables: usize,
    /// Entries of the ledger.
    pub entries: usize,
}

impl Verified {
    /// Nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn problem(&mut self, what: impl fmt::Display) {
        self.problems.push(what.to_string());
    }
}

/// Verifies a results folder, or a folder of tables with their ledger. `trust` holds the certificates
/// that time stamps are checked against.
pub fn verify(root: &Path, trust: Option<&Path>) -> Result<Verified, StudyError> {
    let store = Store::new(root);
    fs::metadata(root).map_err(StudyError::io(root))?;
    let mut verified = Verified::default();
    let ledger = verify_ledger(&store, trust, &mut verified)?;
    let found = store.scan()?;
    let mut ids: Vec<(UnitId, Recorded)> = found.into_iter().collect();
    ids.sort_unstable_by_key(|(id, _)| *id);
    for (id, recorded) in &ids {
        verify_record(&store, id, *recorded, ledger.as_ref(), &mut verified);
    }
    let here: BTreeSet<Hash> = ids.iter().map(|(id, _)| *id).collect();
    if let Err(error) = completeness(&store, ledger.as_ref(), &here, &mut verified) {
        verified.problem(error);
    }
    let mut folders = vec![root.to_owned()];
    for folder in [store.root().join("tables"), root.to_owned()] {
        let mut names = list(&folder)?;
        names.sort_unstable();
        folders.extend(names.iter().map(|name| folder.join(name)));
    }
    for tables in folders.iter().filter(|folder| folder.join("SHA256SUMS").exists()) {
        verify_tables(tables, &mut verified);
    }
    if verified.records + verified.tables + verified.entries == 0 {
        return Err(StudyError::invalid(
            format!("{} holds no results", root.display()),
            "give the folder that was passed as --out",
        ));
    }
    Ok(verified)
}

fn verify_ledger(
    store: &Store,
    trust: Option<&Path>,
    verified: &mut Verified,
) -> Result<Option<Ledger>, StudyError> {
    let path = store.ledger();
    if !path.exists() {
        verified.notes.push("no ledger: nothing was frozen here".to_owned());
        return Ok(None);
    }
    let report = backcut_ledger::verify(&path, trust)?;
    for finding in &report.findings {
        let line = format!("{}: line {}: {}", path.display(), finding.line, finding.what);
        match finding.level {
            backcut_ledger::Level::Fault => verified.problem(line),
            backcut_ledger::Level::Note => verified.notes.push(line),
        }
    }
    match Ledger::open(&path) {
        Ok(ledger) => {
            verified.entries = ledger.entries().len();
            Ok(Some(ledger))
        }
        Err(error) => {
            if verified.problems.is_empty() {
                verified.problem(error);
            }
            Ok(None)
        }
    }
}

fn verify_record(
    store: &Store,
    id: &UnitId,
    recorded: Recorded,
    ledger: Option<&Ledger>,
    verified: &mut Verified,
) {
    let record = match Record::load(store, id, recorded) {
        Ok(record) => record,
        Err(error) => return verified.problem(error),
    };
    verified.records += 1;
    let path = store.record(id, recorded);
    if record.recorded() != recorded {
        verified.problem(format!("{}: its name does not say its state", path.display()));
    }
    if let Outcome::Trained { evaluations, .. } = &record.outcome {
        for evaluation in evaluations {
            let again = backcut_training::Panel::new(evaluation.errors.clone()).mean;
            if again.to_bits() != evaluation.mean.to_bits() {
                let at = evaluation.update;
                verified.problem(format!(
                    "{}: the mean at update {at} is not that of its errors",
                    path.display()
                ));
            }
        }
    }
    let head: Option<Hash> = record.head.parse().ok();
    let is_known = head.is_some_and(|h| h == Hash::ZERO || ledger.is_some_and(|l| l.contains(h)));
    if !is_known {
        verified
            .problem(format!("{}: it ran under a head that is not in the ledger", path.display()));
    }
    for file in &record.files {
        let beside = store.beside(id).path().join(&file.name);
        verified.files += 1;
        match backcut_files::read(&beside) {
            Ok(bytes) if Hash::of(&bytes).to_string() != file.sha256 => {
                verified
                    .problem(format!("{}: changed since the record was made", beside.display()));
            }
            Ok(_) => {
                if file.name.starts_with("checkpoint")
                    && let Err(error) = Checkpoint::load(&beside)
                {
                    verified.problem(error);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let what = "removed; it is computed again when needed";
                verified.notes.push(format!("{}: {what}", beside.display()));
            }
            Err(error) => verified.problem(format!("{}: {error}", beside.display())),
        }
    }
}

fn completeness(
    store: &Store,
    ledger: Option<&Ledger>,
    here: &BTreeSet<Hash>,
    verified: &mut Verified,
) -> Result<(), StudyError> {
    if here.is_empty() {
        return Ok(());
    }
    for (name, (canonical, units)) in noted(store)? {
        let done = units.iter().filter(|id| here.contains(id)).count();
        if done < units.len() {
            verified
                .notes
                .push(format!("study {name}: {done} of {} units have a record", units.len()));
        }
        let frozen = ledger.and_then(|l| crate::commit::latest(l, &name));
        let Some(frozen) = frozen else { continue };
        if frozen.canonical != canonical {
            let path = store.study(&name);
            verified.problem(format!("{}: not the study that was frozen", path.display()));
        }
        let planned: BTreeSet<Hash> = units.iter().copied().collect();
        let listed = frozen.new.iter().chain(frozen.reused.iter().map(|r| &r.unit));
        if let Some(odd) = listed.clone().find(|unit| !planned.contains(unit)) {
            let path = store.study(&name);
            verified.problem(format!("{}: unit {odd} is frozen and not planned", path.display()));
        }
        for reused in &frozen.reused {
            let Some(recorded) = store.recorded(&reused.unit) else { continue };
            if let Ok(record) = Record::load(store, &reused.unit, recorded)
                && record.content != reused.content.to_string()
            {
                verified.problem(format!(
                    "{}: study {name} reuses it with another content",
                    store.record(&reused.unit, recorded).display()
                ));
            }
        }
    }
    Ok(())
}

fn verify_tables(folder: &Path, verified: &mut Verified) {
    let path = folder.join("SHA256SUMS");
    let text = match backcut_files::read_text(&path) {
        Ok(text) => text,
        Err(error) => return verified.problem(format!("{}: {error}", path.display())),
    };
    for line in text.lines() {
        let Some((sum, name)) = line.split_once("  ") else {
            verified.problem(format!("{}: a line that is no checksum", path.display()));
            continue;
        };
        let file = folder.join(name);
        verified.tables += 1;
        match backcut_files::read(&file) {
            Ok(bytes) if Hash::of(&bytes).to_string() == sum => {}
            Ok(_) => {
                verified.problem(format!("{}: changed since it was collected", file.display()));
            }
            Err(error) => verified.problem(format!("{}: {error}", file.display())),
        }
    }
}
