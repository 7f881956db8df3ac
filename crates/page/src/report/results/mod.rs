//! A folder of results: what was read, and the questions the rest of the crate asks of it.

mod about;
mod cells;
mod origins;
mod read;
mod study;

pub use about::{Ledger, facts_of};
pub use cells::{SourceValues, canonical_condition, distinct, in_order};
pub use study::{Extra, Judged, Study};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use backcut_evidence::tables::names;
use backcut_evidence::tables::rows::FreezeRow;
use backcut_stats::Answers;

use crate::report::error::ReportError;

/// Everything that a folder of results holds, read once.
#[derive(Debug)]
pub struct Results {
    studies: BTreeMap<String, Study>,
    ledger: Option<Ledger>,
    freezes: Vec<FreezeRow>,
    /// Behind a lock because giving one is memory, not change.
    answers: Mutex<Answers>,
}

impl Results {
    /// Reads a folder with one folder per study, or the folder of a single study.
    pub fn open(folder: &Path) -> Result<Self, ReportError> {
        let mut studies = BTreeMap::new();
        for path in study_folders(folder)? {
            let name =
                path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            studies.insert(name.clone(), Study::open(name, &path)?);
        }
        if studies.is_empty() {
            return Err(ReportError::NoStudies { path: folder.to_owned() });
        }
        let mut ledger = Ledger::open(&folder.join("ledger.jsonl"))?;
        if let (None, Some(above)) = (&ledger, folder.parent()) {
            // Of the folder of a single study it lies one level up.
            let is_single = folder.join("about.json").exists();
            ledger =
                is_single.then(|| Ledger::open(&above.join("ledger.jsonl"))).transpose()?.flatten();
        }
        if ledger.is_none() {
            studies.values_mut().for_each(Study::without_ledger);
        }
        Ok(Self {
            studies,
            ledger,
            freezes: read::rows(folder, names::FREEZES)?,
            answers: Mutex::default(),
        })
    }

    /// The studies, by name.
    pub fn studies(&self) -> impl Iterator<Item = &Study> {
        self.studies.values()
    }

    /// A study, if it was collected.
    pub fn study(&self, name: &str) -> Option<&Study> {
        self.studies.get(name)
    }

    /// The ledger, if the folder has one.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_ref()
    }

    /// What the ledger froze, with what became of it.
    pub fn freezes(&self) -> &[FreezeRow] {
        &self.freezes
    }

    /// Leaves intervals out from now on, for who asks what can be shown and looks at nothing.
    pub fn leave_intervals_out(&self) {
        self.answers().leave_intervals_out();
    }

    pub(crate) fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Folders below `folder` that hold a table of a study, or `folder` itself if it does; sorted.
fn study_folders(folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let unreadable = |error: std::io::Error| ReportError::Unreadable {
        path: folder.to_owned(),
        problem: error.to_string(),
    };
    if study::holds_a_study(folder) {
        return Ok(vec![folder.canonicalize().map_err(unreadable)?]);
    }
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        // What a killed collection left is hidden, and is no study.
        let is_hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        if !is_hidden && path.is_dir() && study::holds_a_study(&path) {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}
