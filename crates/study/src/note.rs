//! What is kept of every study that ran in a folder, in `studies/NAME.json`: its canonical form and
//! its units, and what decides no bit (words, and where programs run). A study can be run from it
//! without its file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::StudyError;
use crate::plan::Plan;
use crate::program::Surroundings;
use crate::store::{Store, list, publish, sweep};
use crate::study::{ErrorWords, Study};
use crate::unit::UnitId;

#[derive(Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) canonical: String,
    pub(crate) units: Vec<UnitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorWords>,
    /// Of every arm, if any has a program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    surroundings: Vec<Option<Surroundings>>,
}

impl Note {
    pub(crate) fn read(path: &Path) -> Result<Self, StudyError> {
        let text = backcut_files::read_text(path).map_err(StudyError::io(path))?;
        serde_json::from_str(&text).map_err(|e| StudyError::damaged(path, e))
    }
}

/// Writes a study down.
pub fn note(study: &Study, plan: &Plan, store: &Store) -> Result<(), StudyError> {
    let around = study.arms.iter().map(|arm| arm.program.as_ref()?.surroundings.clone());
    let mut surroundings: Vec<Option<Surroundings>> = around.collect();
    if surroundings.iter().all(Option::is_none) {
        surroundings.clear();
    }
    let note = Note {
        canonical: study.canonical.clone(),
        units: plan.units.iter().map(|u| u.id).collect(),
        error: Some(study.error.clone()),
        surroundings,
    };
    let mut text = serde_json::to_string(&note).map_err(StudyError::bug)?;
    text.push('\n');
    let path = store.study(&study.name);
    sweep(path.parent().unwrap_or(&path), &study.name);
    publish(&path, text.as_bytes())
}

/// The study of a note: to be run, collected or looked at like that of a file.
pub fn read(path: &Path) -> Result<Study, StudyError> {
    let note = Note::read(path)?;
    let mut study = Study::from_canonical(&note.canonical)?;
    study.error = note.error.unwrap_or(study.error);
    for (arm, around) in study.arms.iter_mut().zip(note.surroundings) {
        if let Some(program) = &mut arm.program {
            Arc::make_mut(program).surroundings = around;
        }
    }
    Ok(study)
}

/// Every study that ran in the folder, by name.
pub(crate) fn noted(store: &Store) -> Result<BTreeMap<String, Note>, StudyError> {
    let folder = store.root().join("studies");
    let mut studies = BTreeMap::new();
    for file in list(&folder)? {
        let Some(name) = file.strip_suffix(".json") else { continue };
        studies.insert(name.to_owned(), Note::read(&folder.join(&file))?);
    }
    Ok(studies)
}

/// The canonical form of a study that ran in the folder.
pub fn canonical(store: &Store, study: &str) -> Result<Option<String>, StudyError> {
    Ok(noted(store)?.remove(study).map(|note| note.canonical))
}

/// The units of every study that ran in the folder, by name.
pub fn known(store: &Store) -> Result<BTreeMap<String, Vec<UnitId>>, StudyError> {
    Ok(noted(store)?.into_iter().map(|(name, note)| (name, note.units)).collect())
}
