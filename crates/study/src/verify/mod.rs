//! Is the folder what it claims to be?
//!
//! Everything in it is looked at: the ledger's chain ([`backcut_evidence::ledger::verify`]), every
//! record with what lies beside it and what it started from (`records`), the copies of studies,
//! every table against the records or, where those are not handed on, against the other tables
//! (`tables`), and that nothing lies there which nobody lists. What the ledger froze is listed with
//! what became of it, also what was never run.

mod records;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use backcut_files::{Hash, target_of};

use backcut_evidence::ledger::{Frozen, Ledger};
use backcut_evidence::tables::rows::FreezeRow;

use crate::commit::latest;
use crate::error::StudyError;
use crate::freezes::{Beside, freezes};
use crate::note::{Note, noted};
use crate::plan::Plan;
use crate::record::Record;
use crate::store::{Recorded, Store, list};
use crate::study::{ErrorWords, Study, draw_sources};
use crate::unit::UnitId;

/// What a verification found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Everything that is wrong, with the file.
    pub problems: Vec<String>,
    /// What is worth knowing and wrong with nothing.
    pub notes: Vec<String>,
    /// What the ledger froze, and what became of it.
    pub freezes: Vec<FreezeRow>,
    /// Records that were read.
    pub records: usize,
    /// Files beside them.
    pub files: usize,
    /// Table files.
    pub tables: usize,
    /// Rows of analyses that were computed again.
    pub rows: usize,
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

    fn note(&mut self, what: impl fmt::Display) {
        self.notes.push(what.to_string());
    }
}

/// What tables are verified with.
struct Folder<'a> {
    store: &'a Store,
    ledger: Option<&'a Ledger>,
    /// Units with a record.
    here: BTreeSet<Hash>,
    /// The canonical forms of studies, by name: as they were noted, with the words for their error,
    /// and else as they were frozen.
    studies: BTreeMap<String, (String, Option<ErrorWords>)>,
}

/// Verifies a results folder, or a folder of tables with their ledger.
pub fn verify(root: &Path) -> Result<Verified, StudyError> {
    let store = Store::new(root);
    fs::metadata(root).map_err(StudyError::io(root))?;
    let mut verified = Verified::default();
    let ledger = verify_ledger(&store, &mut verified)?;
    let found = store.scan()?;
    let mut ids: Vec<(UnitId, Recorded)> = found.into_iter().collect();
    ids.sort_unstable_by_key(|(id, _)| *id);
    records::verify(&store, &ids, ledger.as_ref(), &mut verified)?;
    let here: BTreeSet<Hash> = ids.iter().map(|(id, _)| *id).collect();
    let mut folder =
        Folder { store: &store, ledger: ledger.as_ref(), here, studies: frozen(ledger.as_ref()) };
    let mut planned = BTreeMap::new();
    match noted(&store) {
        Ok(noted) => {
            for (name, Note { canonical, units, error, .. }) in noted {
                verify_copy(&folder, &name, &canonical, &units, &mut verified);
                folder.studies.insert(name.clone(), (canonical, error));
                planned.insert(name, units);
            }
        }
        Err(error) => verified.problem(error),
    }
    verify_copied_ledger(&store, &mut verified)?;
    let above = if store.root().join("tables").exists() {
        store.root().join("tables")
    } else {
        root.to_owned()
    };
    let mut folders = vec![root.to_owned()];
    for parent in [store.root().join("tables"), root.to_owned()] {
        let mut names = list(&parent)?;
        // What a killed collection left is no table yet, or none any more.
        names.retain(|name| target_of(name).is_none());
        names.sort_unstable();
        folders.extend(names.iter().map(|name| parent.join(name)).filter(|path| path.is_dir()));
    }
    for path in folders {
        tables::verify(&path, &folder, &mut verified);
    }
    // The tables of a single study are part of a folder, whose other studies are not looked at.
    if let Some(ledger) = ledger.as_ref().filter(|_| store.ledger().starts_with(root)) {
        let has_records = !folder.here.is_empty() || !planned.is_empty();
        let recorded = has_records.then_some(&folder.here);
        verified.freezes = freezes(ledger, &Beside { recorded, tables: &above, planned: &planned });
        tables::verify_freezes(&above, &store, &mut verified);
    }
    strays(&store, &above, &mut verified)?;
    if verified.records + verified.tables + verified.entries == 0 && verified.is_sound() {
        return Err(StudyError::invalid(
            format!("{} holds no results", root.display()),
            "give the folder that was passed as --out",
        ));
    }
    Ok(verified)
}

/// The latest form of every frozen study.
fn frozen(ledger: Option<&Ledger>) -> BTreeMap<String, (String, Option<ErrorWords>)> {
    let entries = ledger.into_iter().flat_map(Ledger::entries).filter_map(|entry| entry.frozen());
    entries.map(|frozen| (frozen.study.clone(), (frozen.canonical.clone(), None))).collect()
}

/// Folders of a results folder, as [`Store`] lays it out.
const FOLDERS: [&str; 7] = ["studies", "units", "work", "claims", "runs", "tables", "slurm"];

/// Files that nobody wrote who is known here, where somebody could take them for results.
fn strays(store: &Store, above: &Path, verified: &mut Verified) -> Result<(), StudyError> {
    let root = store.root();
    let is_results = root.join("units").exists() || root.join("studies").exists();
    let is_known = |name: &str| target_of(name).is_some() || name == "ledger.jsonl";
    if is_results {
        for name in list(root)?.iter().filter(|name| !is_known(name)) {
            if !FOLDERS.contains(&name.as_str()) && !root.join(name).join("about.json").exists() {
                let path = root.join(name);
                verified.note(format!("{}: no file of a results folder", path.display()));
            }
        }
        let folder = root.join("studies");
        for name in list(&folder)?.iter().filter(|name| target_of(name).is_none()) {
            let path = folder.join(name);
            if name.strip_suffix(".json").is_none() || !path.is_file() {
                verified.problem(format!("{}: no file of a results folder", path.display()));
            }
        }
    }
    let is_table = |name: &str| [".csv", ".parquet"].iter().any(|end| name.ends_with(end));
    for name in list(above)?.iter().filter(|name| !is_known(name)) {
        let path = above.join(name);
        let is_study = path.join("about.json").exists();
        let is_own = above == root && FOLDERS.contains(&name.as_str());
        let is_table_here = path.is_file() && is_table(name) && !above.join("about.json").exists();
        let holds_tables = || list(&path).is_ok_and(|names| names.iter().any(|n| is_table(n)));
        if is_table_here && *name != "freezes.csv" || !is_study && !is_own && holds_tables() {
            let what = format!("{}: tables that no study made here", path.display());
            // Beside tables that were handed on, others may well lie.
            if above == root { verified.note(what) } else { verified.problem(what) }
        }
    }
    Ok(())
}

fn verify_ledger(store: &Store, verified: &mut Verified) -> Result<Option<Ledger>, StudyError> {
    let path = store.ledger();
    if !path.exists() {
        verified.note("no ledger: nothing was frozen here");
        return Ok(None);
    }
    let report = backcut_evidence::ledger::verify(&path)?;
    for finding in &report.findings {
        let line = format!("{}: line {}: {}", path.display(), finding.line, finding.what);
        match finding.level {
            backcut_evidence::ledger::Level::Fault => verified.problem(line),
            backcut_evidence::ledger::Level::Note => verified.note(line),
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

/// The ledger that travels with the tables must be the folder's own, as far as it goes.
fn verify_copied_ledger(store: &Store, verified: &mut Verified) -> Result<(), StudyError> {
    let path = store.root().join("tables/ledger.jsonl");
    if !path.exists() {
        return Ok(());
    }
    let copy = backcut_files::read(&path).map_err(StudyError::io(&path))?;
    let own = backcut_files::read(&store.ledger()).unwrap_or_default();
    if !own.starts_with(&copy) {
        verified.problem(format!("{}: not a copy of the folder's ledger", path.display()));
    }
    Ok(())
}

/// The copy of a study: is it one, are its units those that it plans, and is it what was frozen?
fn verify_copy(
    folder: &Folder,
    name: &str,
    canonical: &str,
    units: &[UnitId],
    verified: &mut Verified,
) {
    let Folder { store, here, .. } = folder;
    let path = store.study(name);
    let done = units.iter().filter(|id| here.contains(id)).count();
    if done < units.len() {
        verified.note(format!("study {name}: {done} of {} units have a record", units.len()));
    }
    let study = match Study::from_canonical(canonical) {
        Ok(study) => study,
        Err(error) => return verified.problem(format!("{}: {error}", path.display())),
    };
    let study = match folder.ledger {
        Some(ledger) => draw_sources(study, ledger),
        None => study,
    };
    let planned: Vec<UnitId> = Plan::new(&study).units.iter().map(|unit| unit.id).collect();
    if study.name != name || planned != units {
        verified.problem(format!("{}: its units are not those of its study", path.display()));
    }
    if let Some(frozen) = folder.ledger.and_then(|l| latest(l, name)) {
        if frozen.canonical != canonical {
            verified.problem(format!("{}: not the study that was frozen", path.display()));
        }
        verify_listed(store, name, frozen, &planned, verified);
    }
}

/// What an entry lists: the units of the plan, and reused results that still hold what they held.
fn verify_listed(
    store: &Store,
    name: &str,
    frozen: &Frozen,
    planned: &[UnitId],
    verified: &mut Verified,
) {
    let path = store.study(name);
    let planned: BTreeSet<&Hash> = planned.iter().collect();
    let listed: BTreeSet<&Hash> =
        frozen.new.iter().chain(frozen.reused.iter().map(|r| &r.unit)).collect();
    if frozen.draw.is_none()
        && let Some(odd) = listed.symmetric_difference(&planned).next()
    {
        let what = if planned.contains(odd) {
            "is planned and was not frozen"
        } else {
            "is frozen and not planned"
        };
        verified.problem(format!("{}: unit {odd} {what}", path.display()));
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
