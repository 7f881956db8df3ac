//! Study -> ordered list of units, each once, what it starts from before it.
//!
//! A plan of 100,000 units must take little memory, so a unit is a few indices and an id, and its
//! definition is made when it is asked for.

use std::collections::HashMap;

use backcut_kernels::NUMERICS_VERSION;
use backcut_lab::training::{Precision, RunConfig};

use crate::program::{Commanded, PROTOCOL};
use crate::study::{Arm, Measured, Study};
use crate::unit::{Definition, Measuring, StateOf, UnitId};

/// A planned unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Its name.
    pub id: UnitId,
    /// Index of the arm that is trained or measured.
    pub arm: u32,
    /// Index of the measurement; `None` for training.
    pub measured: Option<u32>,
    /// Index of the condition in the arm's grid.
    pub condition: u32,
    /// Index of the source in the arm's grid.
    pub source: u32,
    /// Units whose states it needs, by index.
    pub needs: [Option<u32>; 2],
}

/// A place in the study's tables, and the unit that fills it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Index of the arm.
    pub arm: u32,
    /// Index of the measurement; `None` for training.
    pub measured: Option<u32>,
    /// Index of the condition in the arm's grid.
    pub condition: u32,
    /// Index of the source in the arm's grid.
    pub source: u32,
    /// Index of the unit.
    pub unit: u32,
}

/// All units of a study.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Units; whatever one needs comes before it.
    pub units: Vec<Unit>,
    /// The places of the tables, in their order.
    pub places: Vec<Place>,
    /// Updates after which each unit's checkpoint is kept, where it differs from none.
    keep: HashMap<u32, Vec<u64>>,
}

impl Plan {
    /// Plans a study.
    pub fn new(study: &Study) -> Self {
        let mut plan = Self { units: Vec::new(), places: Vec::new(), keep: HashMap::new() };
        let mut by_id: HashMap<UnitId, u32> = HashMap::new();
        // The unit of every (arm, condition, source), by arm.
        let mut of_arm: Vec<HashMap<(u32, u32), u32>> = vec![HashMap::new(); study.arms.len()];
        for (grid_index, grid) in study.grids.iter().enumerate() {
            for condition in 0..grid.conditions.len() {
                let is_here =
                    |arm: &Arm| arm.grid == grid_index && arm.conditions.contains(&condition);
                let here: Vec<usize> =
                    (0..study.arms.len()).filter(|&a| is_here(&study.arms[a])).collect();
                let measured: Vec<usize> = (0..study.measured.len())
                    .filter(|&m| here.contains(&study.measured[m].arm))
                    .collect();
                for source in 0..grid.sources.len() {
                    let at = (condition as u32, source as u32);
                    let mut unit = Unit {
                        id: UnitId::ZERO,
                        arm: 0,
                        measured: None,
                        condition: at.0,
                        source: at.1,
                        needs: [None, None],
                    };
                    for &arm in &here {
                        let from = study.arms[arm].from;
                        unit.arm = arm as u32;
                        unit.needs = [from.and_then(|(p, _)| of_arm[p].get(&at).copied()), None];
                        let index = plan.add(study, unit, &mut by_id);
                        of_arm[arm].insert(at, index);
                        let kept = plan.keep.entry(index).or_default();
                        kept.extend(study.arms[arm].keep.iter().copied());
                    }
                    for &m in &measured {
                        let item = &study.measured[m];
                        let reference = item.reference.map(|(arm, _)| arm);
                        let of = |arm: usize| of_arm[arm].get(&at).copied();
                        unit.arm = item.arm as u32;
                        unit.measured = Some(m as u32);
                        unit.needs = [of(item.arm), reference.and_then(of)];
                        plan.add(study, unit, &mut by_id);
                    }
                }
            }
        }
        plan
    }

    /// Names a unit by its definition and gives it a place; two places may share a unit.
    fn add(&mut self, study: &Study, unit: Unit, by_id: &mut HashMap<UnitId, u32>) -> u32 {
        let id = self.define(study, &unit).id();
        let next = self.units.len() as u32;
        let index = *by_id.entry(id).or_insert(next);
        if index == next {
            self.units.push(Unit { id, ..unit });
        }
        let Unit { arm, measured, condition, source, .. } = unit;
        self.places.push(Place { arm, measured, condition, source, unit: index });
        index
    }

    /// Updates whose checkpoint a unit keeps.
    pub fn keep(&self, unit: u32) -> &[u64] {
        self.keep.get(&unit).map_or(&[], Vec::as_slice)
    }

    /// The definition of a unit.
    pub fn definition(&self, study: &Study, unit: u32) -> Definition {
        self.define(study, &self.units[unit as usize])
    }

    fn define(&self, study: &Study, unit: &Unit) -> Definition {
        // A study starts no arm from one that is not under the same condition: what is not there is
        // not asked for, and zeros would name a unit that no record can have.
        let id = |slot: usize| unit.needs[slot].map_or(UnitId::ZERO, |n| self.units[n as usize].id);
        match unit.measured {
            Some(m) => measure_definition(&study.measured[m as usize], id(0), id(1)),
            None => train_definition(study, unit, id(0)),
        }
    }

    /// The states that a unit needs: of which units (by index), at which update.
    pub fn needed(&self, study: &Study, unit: u32) -> impl Iterator<Item = (u32, u64)> {
        let unit = &self.units[unit as usize];
        let updates = match unit.measured {
            None => [study.arms[unit.arm as usize].from, None].map(|state| state.map(|s| s.1)),
            Some(m) => {
                let item = &study.measured[m as usize];
                [Some(item.update), item.reference.map(|(_, update)| update)]
            }
        };
        unit.needs.into_iter().zip(updates).filter_map(|(need, update)| need.zip(update))
    }

    /// Updates of a unit.
    pub fn work(&self, study: &Study, unit: u32) -> u64 {
        let unit = &self.units[unit as usize];
        let arm = &study.arms[unit.arm as usize];
        if unit.measured.is_some() { 0 } else { arm.updates - arm.from.map_or(0, |(_, at)| at) }
    }

    /// A unit in words: arm, condition, source.
    pub fn words(&self, study: &Study, unit: u32) -> String {
        let unit = &self.units[unit as usize];
        let arm = &study.arms[unit.arm as usize];
        let grid = &study.grids[arm.grid];
        let (condition, _) = &grid.conditions[unit.condition as usize];
        let source = grid.source_name(unit.source as usize);
        let what = unit.measured.map_or(String::new(), |m| {
            let item = &study.measured[m as usize];
            format!(" {} at {}", item.what.kind(), item.update)
        });
        format!("{}@{condition} source {source}{what}", arm.name)
    }
}

fn train_definition(study: &Study, unit: &Unit, start: UnitId) -> Definition {
    let (arm, condition) = (&study.arms[unit.arm as usize], unit.condition as usize);
    let grid = &study.grids[arm.grid];
    let seed = grid.sources[unit.source as usize];
    if let Some(program) = &arm.program {
        return Definition::Command(Commanded {
            version: PROTOCOL,
            arm: arm.name.clone(),
            condition: grid.conditions[condition].0.clone(),
            command: program.command.clone(),
            files: program.files.clone(),
            settings: arm.systems[&condition].settings.as_object().cloned().unwrap_or_default(),
            seed,
            updates: arm.updates,
            evaluations: arm.evaluations.clone(),
            replay: program.replay,
        });
    }
    let (system, seed) = match &arm.shared {
        Some(shared) => (&shared.system, shared.seed),
        None => (&arm.systems[&condition], seed),
    };
    Definition::Train(RunConfig {
        system: system.clone(),
        cut: arm.cut,
        seed,
        stream: arm.stream,
        start: arm.from.map(|(_, update)| StateOf { unit: start, update }),
        updates: arm.updates,
        evaluations: arm.evaluations.clone(),
        optimizer: arm.optimizer.clone(),
        precision: Precision::F32,
        numerics: NUMERICS_VERSION,
    })
}

fn measure_definition(item: &Measured, of: UnitId, reference: UnitId) -> Definition {
    Definition::Measure(Measuring {
        measurement: item.what.clone(),
        of: StateOf { unit: of, update: item.update },
        reference: item.reference.map(|(_, update)| StateOf { unit: reference, update }),
        numerics: NUMERICS_VERSION,
    })
}
