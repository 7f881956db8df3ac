//! Study -> ordered list of units, each once, what it starts from before it.
//!
//! A plan of 100,000 units must take a blink and little memory, so a unit is a few indices and an id.
//! Its definition is a template of its arm and condition into which the source's seed and the ids of
//! its starts are put; a test holds the templates to the definitions' own canonical bytes.

use std::collections::HashMap;

use backcut_kernels::NUMERICS_VERSION;
use backcut_training::{Precision, RunConfig};

use crate::command::{Commanded, PROTOCOL};
use crate::study::Study;
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

/// A definition's canonical bytes with holes.
struct Template {
    pieces: Vec<String>,
    holes: Vec<Hole>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hole {
    Seed,
    First,
    Second,
}

/// Stand-ins that no definition contains.
const SEED: u64 = 9_007_199_254_740_991;
const FIRST: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222222222222222222222222222";

impl Template {
    fn new(definition: &Definition) -> Self {
        let text = definition.canonical();
        let seed = format!("\"seed\":{SEED}");
        let marks = [
            (Hole::Seed, SEED.to_string()),
            (Hole::First, FIRST.into()),
            (Hole::Second, SECOND.into()),
        ];
        let mut found: Vec<(usize, Hole, usize)> = Vec::new();
        for (hole, mark) in marks {
            let at = if hole == Hole::Seed {
                text.find(&seed).map(|at| at + seed.len() - mark.len())
            } else {
                text.find(&mark)
            };
            found.extend(at.map(|at| (at, hole, mark.len())));
        }
        found.sort_by_key(|(at, ..)| *at);
        let (mut pieces, mut holes, mut last) = (Vec::new(), Vec::new(), 0);
        for (at, hole, len) in found {
            pieces.push(text[last..at].to_owned());
            holes.push(hole);
            last = at + len;
        }
        pieces.push(text[last..].to_owned());
        Self { pieces, holes }
    }

    fn fill(&self, seed: u64, needs: [Option<UnitId>; 2], text: &mut String) {
        use std::fmt::Write as _;
        text.clear();
        for (piece, hole) in self.pieces.iter().zip(&self.holes) {
            text.push_str(piece);
            // Writing to a string cannot fail.
            let _ = match (hole, needs) {
                (Hole::Seed, _) => write!(text, "{seed}"),
                (Hole::First, [Some(id), _]) | (Hole::Second, [_, Some(id)]) => {
                    write!(text, "{id}")
                }
                _ => Ok(()),
            };
        }
        text.push_str(self.pieces.last().map_or("", String::as_str));
    }
}

impl Plan {
    /// Plans a study.
    pub fn new(study: &Study) -> Self {
        let mut plan = Self { units: Vec::new(), places: Vec::new(), keep: HashMap::new() };
        let mut by_id: HashMap<UnitId, u32> = HashMap::new();
        // The unit of every (arm, condition, source), by arm.
        let mut of_arm: Vec<HashMap<(u32, u32), u32>> = vec![HashMap::new(); study.arms.len()];
        let mut text = String::new();
        for (grid_index, grid) in study.grids.iter().enumerate() {
            let arms: Vec<usize> =
                (0..study.arms.len()).filter(|&a| study.arms[a].grid == grid_index).collect();
            for condition in 0..grid.conditions.len() {
                let here: Vec<usize> = arms
                    .iter()
                    .copied()
                    .filter(|&a| study.arms[a].conditions.contains(&condition))
                    .collect();
                let templates: Vec<Template> = here
                    .iter()
                    .map(|&a| {
                        Template::new(&train_definition(study, a, condition, SEED, &stand_in))
                    })
                    .collect();
                let measured: Vec<usize> = (0..study.measured.len())
                    .filter(|&m| here.contains(&study.measured[m].arm))
                    .collect();
                let measure_templates: Vec<Template> = measured
                    .iter()
                    .map(|&m| Template::new(&measure_definition(study, m, &stand_in)))
                    .collect();
                for (source, &seed) in grid.sources.iter().enumerate() {
                    let at = (condition as u32, source as u32);
                    for (&arm, template) in here.iter().zip(&templates) {
                        let parent =
                            study.arms[arm].from.and_then(|(p, _)| of_arm[p].get(&at).copied());
                        let ids = [parent.map(|p| plan.units[p as usize].id), None];
                        template.fill(seed, ids, &mut text);
                        let unit = Unit {
                            id: UnitId::of(text.as_bytes()),
                            arm: arm as u32,
                            measured: None,
                            condition: at.0,
                            source: at.1,
                            needs: [parent, None],
                        };
                        let index = plan.add(unit, &mut by_id);
                        of_arm[arm].insert(at, index);
                        let kept = plan.keep.entry(index).or_default();
                        kept.extend(study.arms[arm].keep.iter().copied());
                    }
                    for (&m, template) in measured.iter().zip(&measure_templates) {
                        let item = &study.measured[m];
                        let of = of_arm[item.arm].get(&at).copied();
                        let reference =
                            item.reference.and_then(|(r, _)| of_arm[r].get(&at).copied());
                        let id = |index: Option<u32>| index.map(|i| plan.units[i as usize].id);
                        template.fill(seed, [id(of), id(reference)], &mut text);
                        let unit = Unit {
                            id: UnitId::of(text.as_bytes()),
                            arm: item.arm as u32,
                            measured: Some(m as u32),
                            condition: at.0,
                            source: at.1,
                            needs: [of, reference],
                        };
                        plan.add(unit, &mut by_id);
                    }
                }
            }
        }
        plan
    }

    fn add(&mut self, unit: Unit, by_id: &mut HashMap<UnitId, u32>) -> u32 {
        let next = self.units.len() as u32;
        let index = *by_id.entry(unit.id).or_insert(next);
        if index == next {
            self.units.push(unit);
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
        let unit = &self.units[unit as usize];
        let id = |slot: usize| {
            let needed = unit.needs[slot].map(|n| self.units[n as usize].id);
            needed.unwrap_or_else(|| stand_in(slot))
        };
        if let Some(m) = unit.measured {
            return measure_definition(study, m as usize, &id);
        }
        let arm = &study.arms[unit.arm as usize];
        let seed = study.grids[arm.grid].sources[unit.source as usize];
        train_definition(study, unit.arm as usize, unit.condition as usize, seed, &id)
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

fn stand_in(slot: usize) -> UnitId {
    UnitId::from_bytes([[0x11; 32], [0x22; 32]][slot])
}

fn train_definition(
    study: &Study,
    arm: usize,
    condition: usize,
    seed: u64,
    id: &dyn Fn(usize) -> UnitId,
) -> Definition {
    let arm = &study.arms[arm];
    if let Some(program) = &arm.program {
        return Definition::Command(Commanded {
            version: PROTOCOL,
            arm: arm.name.clone(),
            condition: study.grids[arm.grid].conditions[condition].0.clone(),
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
        start: arm.from.map(|(_, update)| StateOf { unit: id(0), update }),
        updates: arm.updates,
        evaluations: arm.evaluations.clone(),
        optimizer: arm.optimizer.clone(),
        precision: Precision::F32,
        numerics: NUMERICS_VERSION,
    })
}

fn measure_definition(study: &Study, measured: usize, id: &dyn Fn(usize) -> UnitId) -> Definition {
    let item = &study.measured[measured];
    Definition::Measure(Measuring {
        measurement: item.what.clone(),
        of: StateOf { unit: id(0), update: item.update },
        reference: item.reference.map(|(_, update)| StateOf { unit: id(1), update }),
        numerics: NUMERICS_VERSION,
    })
}
