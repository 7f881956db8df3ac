//! What is known already, whatever it is called.
//!
//! A unit's id covers everything that is asked of it, so asking for one more evaluation gives
//! another id and the same numbers. The **trajectory** covers only what determines the parameters
//! after each update: two runs with one trajectory have the same parameters as far as both go. A
//! branch that changes nothing is the same trajectory as what it branches from.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use backcut_engine::Cut;
use backcut_evidence::tables::names;
use backcut_evidence::tables::rows::ProvenanceRow;
use backcut_files::{Hash, canonical_value};
use backcut_lab::training::{Checkpoint, RunConfig};
use backcut_systems::SystemChoice;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::StudyError;
use crate::note::noted;
use crate::plan::Plan;
use crate::program::Commanded;
use crate::record::Record;
use crate::store::{Recorded, Store, ledger, list, read_table};
use crate::study::{Study, draw_sources};
use crate::unit::{Definition, UnitId};

/// Parameters along training, up to where a run goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Trajectory {
    /// Its name.
    id: Hash,
    /// What drives it, wherever it starts.
    drive: Hash,
    seed: u64,
}

/// What a unit tells: the errors of a trajectory after an update, or a measurement of its state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Tells {
    Training { trajectory: Hash, after: u64, to: u64 },
    Measuring { trajectory: Hash, update: u64, kind: String },
}

/// The source of a trajectory that cannot be told.
const UNKNOWN: u64 = u64::MAX;

/// Definitions of units, from which trajectories are told.
#[derive(Default)]
struct Book {
    definitions: HashMap<UnitId, Definition>,
    trajectories: HashMap<UnitId, Trajectory>,
}

impl Book {
    /// Takes the definitions of a study in.
    fn add(&mut self, study: &Study, plan: &Plan) {
        for unit in 0..plan.units.len() as u32 {
            let id = plan.units[unit as usize].id;
            self.definitions.entry(id).or_insert_with(|| plan.definition(study, unit));
        }
    }

    /// Takes every study in that was noted or frozen in a folder: a record that is gone, or never
    /// was, does not make what it defines unknown.
    fn add_studies(&mut self, store: &Store) -> Result<(), StudyError> {
        let ledger = ledger(store)?;
        let frozen = ledger.entries().iter().filter_map(|entry| entry.frozen());
        let mut forms: BTreeSet<String> = frozen.map(|frozen| frozen.canonical.clone()).collect();
        forms.extend(noted(store)?.into_values().map(|note| note.canonical));
        for form in forms {
            let Ok(study) = Study::from_canonical(&form) else { continue };
            let study = draw_sources(study, &ledger);
            self.add(&study, &Plan::new(&study));
        }
        Ok(())
    }

    /// The trajectory of a training unit. What it branches from may be gone: then its id stands for
    /// it.
    fn trajectory(&mut self, id: UnitId) -> Trajectory {
        if let Some(known) = self.trajectories.get(&id) {
            return *known;
        }
        let found = match self.definitions.get(&id).cloned() {
            Some(Definition::Train(run)) => {
                let drive = drive(&run);
                let parent = run.start.map(|start| (self.trajectory(start.unit), start.update));
                let id = match parent {
                    None => drive,
                    Some((parent, _)) if parent.drive == drive => parent.id,
                    Some((parent, update)) => name(&json!([drive, parent.id, update])),
                };
                Trajectory { id, drive, seed: run.seed }
            }
            Some(Definition::Command(what)) => {
                let drive = drive_of_program(&what);
                Trajectory { id: drive, drive, seed: what.seed }
            }
            Some(Definition::Measure(_)) | None => Trajectory { id, drive: id, seed: UNKNOWN },
        };
        self.trajectories.insert(id, found);
        found
    }

    /// What a unit tells, and of which source.
    fn tells(&mut self, id: UnitId) -> Option<(Tells, u64)> {
        Some(match self.definitions.get(&id).cloned()? {
            Definition::Train(run) => {
                let Trajectory { id, seed, .. } = self.trajectory(id);
                let after = run.start.map_or(0, |start| start.update);
                (Tells::Training { trajectory: id, after, to: run.updates }, seed)
            }
            Definition::Command(what) => {
                let Trajectory { id, seed, .. } = self.trajectory(id);
                (Tells::Training { trajectory: id, after: 0, to: what.updates }, seed)
            }
            Definition::Measure(what) => {
                let Trajectory { id, seed, .. } = self.trajectory(what.of.unit);
                let kind = what.measurement.kind().to_owned();
                let update = what.of.update;
                (Tells::Measuring { trajectory: id, update, kind }, seed)
            }
        })
    }
}

/// What drives a run, wherever it starts and whenever one looks.
fn drive<S: Serialize>(run: &RunConfig<S>) -> Hash {
    let RunConfig { system, cut, seed, stream, optimizer, precision, numerics, .. } = run;
    let cut = plainest(*cut, steps(&system.settings));
    // Who has seen what a system did has a good guess of what it does after a change of its code.
    let system = SystemChoice { program: None, ..system.clone() };
    name(&json!({
        "system": system, "cut": cut, "seed": seed, "stream": stream,
        "optimizer": optimizer, "precision": precision, "numerics": numerics,
    }))
}

/// What drives a program. Its files' bytes, its arm's name and its budget are left out: who has
/// seen what it gives has a good guess of what it gives after an edit, under another name or for
/// longer.
fn drive_of_program(what: &Commanded) -> Hash {
    let Commanded { command, settings, seed, .. } = what;
    name(&json!({ "command": command, "settings": settings, "seed": seed }))
}

/// The plainest cut that keeps the same edges over so many steps: `SEG-1` is `F_SG`, and a segment
/// or a reach as long as the rollout is none. Some of them differ in the last bits, none in what
/// one learns.
fn plainest(cut: Cut, steps: Option<u64>) -> Cut {
    // Parts have one name already: a plan writes them out (see `resolve/arms.rs`).
    let steps = steps.map_or(usize::MAX, |steps| steps as usize);
    Cut { state: cut.state.plainest(steps), memory: cut.memory.plainest(steps), ..cut }
}

/// The steps of a rollout, where settings say them under that name.
fn steps(settings: &Value) -> Option<u64> {
    let Value::Object(map) = settings else { return None };
    map.get("steps").and_then(Value::as_u64).or_else(|| map.values().find_map(steps))
}

fn name(value: &Value) -> Hash {
    Hash::of(canonical_value(value).as_bytes())
}

/// What a results folder tells at a moment.
pub(crate) struct Known {
    /// Units on the study's sources, finished, failed or begun.
    pub(crate) existing: Vec<UnitId>,
    /// Units of the plan whose results, or the beginning of them, are there under any name.
    pub(crate) known: Vec<UnitId>,
}

impl Known {
    /// What a folder tells of a study.
    pub(crate) fn of(study: &Study, plan: &Plan, store: &Store) -> Result<Self, StudyError> {
        let mut book = Book::default();
        book.add_studies(store)?;
        book.add(study, plan);
        let mut there: BTreeSet<UnitId> = BTreeSet::new();
        let found: BTreeMap<UnitId, Recorded> = store.scan()?.into_iter().collect();
        for (id, recorded) in found {
            book.definitions.insert(id, Record::load(store, &id, recorded)?.definition);
            there.insert(id);
        }
        there.extend(told_by_tables(store)?);
        let mut headless = Vec::new();
        for id in readable(store, &there)? {
            if !book.definitions.contains_key(&id) {
                headless.extend(saved(store, &id));
            }
            there.insert(id);
        }
        let mut reach: HashMap<Hash, u64> = HashMap::new();
        let mut measured: HashSet<Tells> = HashSet::new();
        let seeds: BTreeSet<u64> =
            study.grids.iter().flat_map(|g| g.sources.iter().copied()).collect();
        let mut existing = Vec::new();
        for &id in &there {
            let Some((tells, seed)) = book.tells(id) else { continue };
            // What cannot be told may well be on the study's sources.
            if seeds.contains(&seed) || seed == UNKNOWN {
                existing.push(id);
            }
            match tells {
                Tells::Training { trajectory, to, .. } => {
                    let far = reach.entry(trajectory).or_default();
                    *far = to.max(*far);
                }
                measuring @ Tells::Measuring { .. } => {
                    measured.insert(measuring);
                }
            }
        }
        for (id, trajectory, seed) in headless {
            reach.insert(trajectory, u64::MAX);
            if seeds.contains(&seed) {
                existing.push(id);
            }
        }
        let mut known = Vec::new();
        for unit in &plan.units {
            let is_known = there.contains(&unit.id)
                || match book.tells(unit.id) {
                    Some((Tells::Training { trajectory, after, .. }, _)) => {
                        reach.get(&trajectory).is_some_and(|far| *far > after)
                    }
                    Some((measuring, _)) => measured.contains(&measuring),
                    None => false,
                };
            if is_known {
                known.push(unit.id);
            }
        }
        Ok(Self { existing, known })
    }
}

/// Units without a record of which anything can be read: a saved state in `work/`, or files in
/// `units/`.
fn readable(store: &Store, recorded: &BTreeSet<UnitId>) -> Result<Vec<UnitId>, StudyError> {
    let mut ids: BTreeSet<UnitId> = store.begun()?.into_iter().collect();
    let units = store.root().join("units");
    for shelf in list(&units)? {
        let names = list(&units.join(shelf))?;
        ids.extend(names.iter().filter_map(|name| name.parse::<UnitId>().ok()));
    }
    let mut readable = Vec::new();
    for id in ids {
        let has_files = |folder: &Path| list(folder).map(|names| !names.is_empty());
        if !recorded.contains(&id)
            && (has_files(store.work(&id).path())? || has_files(store.beside(&id).path())?)
        {
            readable.push(id);
        }
    }
    Ok(readable)
}

/// Units whose results stand in collected tables, whether their records are still there or not.
fn told_by_tables(store: &Store) -> Result<Vec<UnitId>, StudyError> {
    let tables = store.root().join("tables");
    let mut told = Vec::new();
    for folder in list(&tables)? {
        let folder = tables.join(folder);
        if folder.join(format!("{}.csv", names::PROVENANCE)).exists() {
            let rows: Vec<ProvenanceRow> = read_table(&folder, names::PROVENANCE)?;
            told.extend(rows.iter().map(|row| row.unit));
        }
    }
    Ok(told)
}

/// What the saved state of a unit that no study here defines says of its trajectory and its source.
fn saved(store: &Store, id: &UnitId) -> Option<(UnitId, Hash, u64)> {
    let checkpoint = Checkpoint::load(&store.work(id).checkpoint()).ok()?;
    let config = &checkpoint.header().config;
    Some((*id, drive(config), config.seed))
}

#[cfg(test)]
mod tests {
    use backcut_systems::Catalogue;

    use super::*;

    fn study(change: impl Fn(&str) -> String) -> Study {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/c2.toml");
        let read = |path: &Path| std::fs::read_to_string(path).map(|text| change(&text));
        Study::load_with(&path, &Catalogue::builtin(), &read).unwrap()
    }

    fn told(study: &Study) -> Vec<Tells> {
        let plan = Plan::new(study);
        let mut book = Book::default();
        for unit in 0..plan.units.len() as u32 {
            book.definitions.insert(plan.units[unit as usize].id, plan.definition(study, unit));
        }
        plan.units.iter().map(|unit| book.tells(unit.id).unwrap().0).collect()
    }

    #[test]
    fn when_one_looks_does_not_make_another_trajectory() {
        let one = study(str::to_owned);
        let other = study(|text| text.replace("[system]", "evaluate_every = 7\n\n[system]"));
        assert_ne!(Plan::new(&one).units[0].id, Plan::new(&other).units[0].id);
        assert_eq!(told(&one), told(&other));
        let another = study(|text| text.replace("first = ", "first = 1"));
        assert_ne!(told(&one)[0], told(&another)[0]);
    }

    /// `FF` goes on where `warm` stopped, with nothing changed; `FD` does not.
    #[test]
    fn a_branch_that_changes_nothing_goes_on_along_its_trajectory() {
        let study = study(str::to_owned);
        let (plan, told) = (Plan::new(&study), told(&study));
        let of = |name: &str| {
            let is_it = |unit: &&crate::plan::Unit| study.arms[unit.arm as usize].name == name;
            let place = plan.units.iter().position(|unit| is_it(&unit)).unwrap();
            match &told[place] {
                Tells::Training { trajectory, after, to } => (*trajectory, *after, *to),
                other @ Tells::Measuring { .. } => panic!("{other:?}"),
            }
        };
        assert_eq!((of("warm").1, of("warm").2), (0, 800));
        assert_eq!(of("FF"), (of("warm").0, 800, 1000));
        assert_ne!(of("FD").0, of("warm").0);
        assert_ne!(of("FD").0, of("F_SG").0);
    }
}
