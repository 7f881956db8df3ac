//! What is known already, whatever it is called.
//!
//! A unit's id covers everything that is asked of it, so asking for one more evaluation gives another id
//! and the same numbers. The **trajectory** covers only what determines the parameters after each update:
//! two runs with one trajectory have the same parameters as far as both go. A branch that changes nothing
//! is the same trajectory as what it branches from.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use backcut_ledger::{Hash, canonical_value};
use backcut_training::{Checkpoint, RunConfig};
use serde::Serialize;
use serde_json::json;

use crate::commit::noted;
use crate::error::StudyError;
use crate::plan::Plan;
use crate::record::Record;
use crate::store::{Recorded, Store, list};
use crate::study::Study;
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

/// Definitions of units, from which trajectories are told.
#[derive(Default)]
struct Book {
    definitions: HashMap<UnitId, Definition>,
    trajectories: HashMap<UnitId, Trajectory>,
}

impl Book {
    /// The trajectory of a training unit. What it branches from may be gone: then its id stands for it.
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
            _ => Trajectory { id, drive: id, seed: u64::MAX },
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
    name(&json!({
        "system": system, "cut": cut, "seed": seed, "stream": stream,
        "optimizer": optimizer, "precision": precision, "numerics": numerics,
    }))
}

fn name(value: &serde_json::Value) -> Hash {
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
        let mut there: BTreeSet<UnitId> = BTreeSet::new();
        let found: BTreeMap<UnitId, Recorded> = store.scan()?.into_iter().collect();
        for (id, recorded) in found {
            book.definitions.insert(id, Record::load(store, &id, recorded)?.definition);
            there.insert(id);
        }
        let mut headless = Vec::new();
        for id in readable(store, &there)? {
            headless.extend(begun(store, &id, &mut book)?);
            there.insert(id);
        }
        let mut reach: HashMap<Hash, u64> = HashMap::new();
        let mut measured: HashSet<Tells> = HashSet::new();
        let seeds: BTreeSet<u64> =
            study.grids.iter().flat_map(|g| g.sources.iter().copied()).collect();
        let mut existing = Vec::new();
        for &id in &there {
            let Some((tells, seed)) = book.tells(id) else { continue };
            if seeds.contains(&seed) {
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
        let index = 0..plan.units.len() as u32;
        book.definitions
            .extend(index.map(|unit| (plan.units[unit as usize].id, plan.definition(study, unit))));
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

/// Units without a record of which anything can be read in `work/`.
fn readable(store: &Store, recorded: &BTreeSet<UnitId>) -> Result<Vec<UnitId>, StudyError> {
    let mut ids = Vec::new();
    for id in store.begun()? {
        if !recorded.contains(&id) && !list(store.work(&id).path())?.is_empty() {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Finds what defines a unit that was begun: in the studies that ran here; or else what its saved state
/// says of its trajectory and its source.
fn begun(
    store: &Store,
    id: &UnitId,
    book: &mut Book,
) -> Result<Option<(UnitId, Hash, u64)>, StudyError> {
    for (_, (canonical, units)) in noted(store)? {
        if !units.contains(id) {
            continue;
        }
        let ledger = crate::commit::ledger(store)?;
        let Ok(study) = Study::from_canonical(&canonical) else { continue };
        let study = crate::commit::draw_sources(study, &ledger);
        let plan = Plan::new(&study);
        for unit in 0..plan.units.len() as u32 {
            let definition = plan.definition(&study, unit);
            book.definitions.entry(plan.units[unit as usize].id).or_insert(definition);
        }
        return Ok(None);
    }
    let Ok(checkpoint) = Checkpoint::load(&store.work(id).checkpoint()) else { return Ok(None) };
    let config = &checkpoint.header().config;
    Ok(Some((*id, drive(config), config.seed)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
