//! The canonical form: what is frozen, what a changed file is compared with, and what a study is
//! read back from when its file is not at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use backcut_engine::Cut;
use backcut_lab::measure::Measurement;
use backcut_systems::{Behaviour, Optimizer, Quantity, Stream, SystemChoice};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::families::parse;
use super::program::meaningless;
use crate::error::StudyError;
use crate::file::{ComparisonTable, FamilyTable};
use crate::program::Program;
use crate::study::{Arm, Drawn, Grid, Measured, Shared, Study};

/// The version of the form.
const VERSION: u32 = 1;

/// The canonical form: what was resolved, in JSON.
pub(super) fn describe(study: &Study) -> Value {
    let grid = |g: &Grid| {
        let conditions: Vec<Value> =
            g.conditions.iter().map(|(label, choice)| json!([label, choice])).collect();
        match &g.drawn {
            Some(drawn) => json!({ "sources": drawn, "conditions": conditions }),
            None => json!({ "sources": g.sources, "conditions": conditions }),
        }
    };
    let arm = |a: &Arm| {
        let mut settings = a.settings.clone();
        // It was a key of its own before there were others. To a program it is a setting like any
        // other.
        let window = if a.program.is_none() { settings.remove("window") } else { None };
        let mut arm = json!({
            "name": a.name, "grid": a.grid, "conditions": a.conditions, "cut": a.cut,
            "window": window, "from": a.from, "updates": a.updates, "stream": a.stream,
            "evaluations": a.evaluations, "optimizer": a.optimizer, "keep": a.keep,
            "origin": a.origin,
        });
        if !settings.is_empty() {
            arm["settings"] = settings.into();
        }
        if let (Some(program), Some(map)) = (&a.program, arm.as_object_mut()) {
            for meaningless in ["cut", "window", "from", "stream", "optimizer", "keep"] {
                map.remove(meaningless);
            }
            map.insert("program".to_owned(), json!(**program));
        }
        // What its own settings make of a condition's system, no setting says.
        let behaviours: BTreeMap<usize, &Behaviour> = (a.systems.iter())
            .filter(|(condition, system)| {
                let conditions = &study.grids[a.grid].conditions;
                !a.settings.is_empty() || conditions[**condition].1.program != system.program
            })
            .filter_map(|(condition, system)| Some((*condition, &**system.program.as_ref()?)))
            .collect();
        if !behaviours.is_empty() {
            arm["behaviours"] = json!(behaviours);
        }
        if let Some(shared) = &a.shared {
            arm["shared"] = json!(shared);
        }
        arm
    };
    let measured = |m: &Measured| json!({ "arm": m.arm, "update": m.update, "what": m.what, "reference": m.reference });
    json!({
        "version": VERSION,
        "name": study.name,
        "title": study.title,
        "grids": study.grids.iter().map(grid).collect::<Vec<_>>(),
        "arms": study.arms.iter().map(arm).collect::<Vec<_>>(),
        "measurements": study.measured.iter().map(measured).collect::<Vec<_>>(),
        "families": study.families.iter().map(|f| &f.table).collect::<Vec<_>>(),
        "comparisons": study.comparisons,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyForm {
    version: u32,
    name: String,
    title: String,
    grids: Vec<GridForm>,
    arms: Vec<ArmForm>,
    measurements: Vec<MeasuredForm>,
    families: Vec<FamilyTable>,
    comparisons: Vec<ComparisonTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GridForm {
    sources: SourcesForm,
    conditions: Vec<(String, SystemChoice)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SourcesForm {
    Seeds(Vec<u64>),
    Drawn(Drawn),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmForm {
    name: String,
    grid: usize,
    conditions: Vec<usize>,
    cut: Option<Cut>,
    window: Option<Value>,
    from: Option<(usize, u64)>,
    updates: u64,
    stream: Option<Stream>,
    evaluations: Vec<u64>,
    optimizer: Option<Optimizer>,
    keep: Option<BTreeSet<u64>>,
    origin: Option<String>,
    #[serde(default)]
    program: Option<Program>,
    #[serde(default)]
    settings: Map<String, Value>,
    #[serde(default)]
    shared: Option<Shared>,
    #[serde(default)]
    behaviours: BTreeMap<usize, Box<Behaviour>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredForm {
    arm: usize,
    update: u64,
    what: Measurement,
    reference: Option<(usize, u64)>,
}

/// Reads a canonical form. Drawn sources are open in it.
pub(crate) fn read(text: &str) -> Result<Study, StudyError> {
    let wrong = |what: &str| {
        let hint = "the ledger or the folder was written by another version, or changed";
        StudyError::invalid(format!("the canonical form of a study: {what}"), hint)
    };
    let form: StudyForm = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    if form.version != VERSION {
        return Err(wrong(&format!("there is no version {}", form.version)));
    }
    let grid = |form: GridForm| match form.sources {
        SourcesForm::Seeds(sources) => Grid { sources, drawn: None, conditions: form.conditions },
        SourcesForm::Drawn(drawn) => Grid::open(drawn, form.conditions),
    };
    let grids: Vec<Grid> = form.grids.into_iter().map(grid).collect();
    let mut arms = Vec::new();
    for arm in form.arms {
        let is_earlier = arm.from.is_none_or(|(parent, _)| parent < arms.len());
        let found = grids.get(arm.grid).filter(|_| is_earlier);
        let arm = found.and_then(|grid| arm.on(grid));
        arms.push(arm.ok_or_else(|| wrong("an arm names what is not there"))?);
    }
    let mut measured = Vec::new();
    for MeasuredForm { arm, update, what, reference } in form.measurements {
        if arm >= arms.len() || reference.is_some_and(|(reference, _)| reference >= arms.len()) {
            return Err(wrong("a measurement names what is not there"));
        }
        measured.push(Measured { arm, update, what, reference });
    }
    Ok(Study {
        name: form.name,
        title: form.title,
        path: PathBuf::new(),
        grids,
        arms,
        measured,
        families: form.families.iter().map(parse).collect::<Result<_, StudyError>>()?,
        comparisons: form.comparisons,
        error: Quantity { name: "error", unit: "" }.into(),
        canonical: text.to_owned(),
    })
}

impl ArmForm {
    /// The arm, with the system under each of its conditions: the condition's, with its own
    /// settings.
    fn on(mut self, grid: &Grid) -> Option<Arm> {
        let window = self.window.map(|window| ("window".to_owned(), window));
        self.settings.extend(window);
        let mut systems = BTreeMap::new();
        for &condition in &self.conditions {
            let mut choice = grid.conditions.get(condition)?.1.changed(&self.settings);
            choice.program = self.behaviours.remove(&condition).or(choice.program);
            systems.insert(condition, choice);
        }
        // What a trained arm must say, and an arm of a program does not.
        let ((cut, stream, optimizer), keep) = match &self.program {
            None => ((self.cut?, self.stream?, self.optimizer?), self.keep?),
            Some(_) => (meaningless(), BTreeSet::new()),
        };
        Some(Arm {
            name: self.name,
            grid: self.grid,
            conditions: self.conditions,
            cut,
            settings: self.settings,
            systems,
            from: self.from,
            updates: self.updates,
            stream,
            evaluations: self.evaluations,
            optimizer,
            keep,
            origin: self.origin,
            program: self.program.map(Arc::new),
            shared: self.shared,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use backcut_systems::Catalogue;

    use super::*;
    use crate::plan::Plan;

    /// Every study of the project comes back whole: the same canonical form, the same units.
    #[test]
    fn every_study_is_read_back_from_its_canonical_form() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).unwrap().flatten() {
            // Ships' studies come back in the paper's tests: their system is not known here.
            let is_of_ships =
                ["b1-quick.toml", "b3-quick.toml"].iter().any(|s| *s == file.file_name());
            if is_of_ships || file.path().extension().is_none_or(|ending| ending != "toml") {
                continue;
            }
            let study = Study::load(&file.path(), &Catalogue::builtin()).unwrap();
            let again = Study::from_canonical(&study.canonical).unwrap();
            let form = backcut_files::canonical_value(&describe(&again));
            assert_eq!(form, study.canonical, "{}", study.name);
            assert_eq!(Plan::new(&again).units, Plan::new(&study).units, "{}", study.name);
            assert_eq!(Plan::new(&again).places, Plan::new(&study).places, "{}", study.name);
            seen += 1;
        }
        assert!(seen > 8, "{seen} studies");
    }

    #[test]
    fn a_form_that_names_what_is_not_there_is_refused() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/c2.toml");
        let study = Study::load(&path, &Catalogue::builtin()).unwrap();
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut value = study.value();
            change(&mut value);
            Study::from_canonical(&value.to_string()).unwrap_err().to_string()
        };
        assert!(refused(&|v| v["arms"][0]["grid"] = 9.into()).contains("not there"));
        assert!(refused(&|v| v["arms"][0]["conditions"] = json!([99])).contains("not there"));
        assert!(refused(&|v| v["arms"][0]["from"] = json!([5, 1])).contains("not there"));
        assert!(refused(&|v| v["version"] = 2.into()).contains("no version 2"));
        assert!(refused(&|v| v["more"] = 2.into()).contains("unknown field"));
        assert!(Study::from_canonical("{").is_err());
    }
}
