//! Which shards hold what is missing, and how many shards to make.
//!
//! Shards are those of `study run --shard I/N`: units that start from one another stay together. Only
//! shards with something to do become array tasks.

use std::fmt::Write as _;

use crate::plan::Plan;
use crate::runner::shard_of;
use crate::status::UnitState;

/// Slurm's own default allows indices of arrays up to 1000 (`MaxArraySize` = 1001).
pub const MAX_TASKS: u64 = 1000;

/// What is missing may all fall into a few shards of one number and not of the next; so many are tried.
const NUMBERS_TRIED: u64 = 16;

/// The units to compute, by index: what has no record, or what failed.
pub fn due(states: &[UnitState], only_failed: bool) -> Vec<u32> {
    let is_due = |state: UnitState| match state {
        UnitState::Done | UnitState::Blocked => false,
        UnitState::Failed => only_failed,
        UnitState::Running | UnitState::Interrupted | UnitState::Pending => !only_failed,
    };
    (0..states.len()).filter(|&unit| is_due(states[unit])).map(|unit| unit as u32).collect()
}

/// Shards that have something to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shards {
    /// How many shards the plan is dealt into.
    pub count: u64,
    /// Those with units to compute, counted from 1.
    pub tasks: Vec<u64>,
    /// Units to compute, in all.
    pub units: usize,
    /// Units of the largest task.
    pub largest: usize,
}

impl Shards {
    /// Deals out what is due, about `units_per_task` to a task, into `at_least` tasks if there are
    /// enough units. `None` if nothing is due.
    pub fn deal(plan: &Plan, due: &[u32], units_per_task: u32, at_least: u32) -> Option<Self> {
        let goal = due.len().div_ceil(at_least.max(1) as usize).min(units_per_task as usize);
        if goal == 0 {
            return None;
        }
        let first = (due.len().div_ceil(goal) as u64).min(MAX_TASKS);
        let mut best: Option<Self> = None;
        for count in (first..first + NUMBERS_TRIED).take_while(|count| *count <= MAX_TASKS) {
            let shards = Self::of(plan, due, count);
            if best.as_ref().is_none_or(|best| shards.largest < best.largest) {
                best = Some(shards);
            }
            if best.as_ref().is_some_and(|best| best.largest <= goal) {
                break;
            }
        }
        best
    }

    fn of(plan: &Plan, due: &[u32], count: u64) -> Self {
        let mut loads = vec![0usize; count as usize];
        for &unit in due {
            loads[shard_of(plan, unit, count) as usize] += 1;
        }
        let tasks = (1..=count).filter(|&i| loads[i as usize - 1] > 0).collect();
        Self { count, tasks, units: due.len(), largest: loads.into_iter().max().unwrap_or(0) }
    }

    /// The tasks as Slurm writes them: `1-3,7`.
    pub fn array(&self) -> String {
        let mut text = String::new();
        for run in self.tasks.chunk_by(|a, b| a + 1 == *b) {
            let comma = if text.is_empty() { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = match run {
                [one] => write!(text, "{comma}{one}"),
                [first, .., last] => write!(text, "{comma}{first}-{last}"),
                [] => Ok(()),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use backcut_systems::Catalogue;

    use crate::Study;

    fn plan() -> Plan {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/quick.toml");
        Plan::new(&Study::load(&file, &Catalogue::builtin()).unwrap())
    }

    #[test]
    fn every_due_unit_is_in_exactly_one_task() {
        let plan = plan();
        let due: Vec<u32> = (0..plan.units.len() as u32).filter(|u| u % 3 != 1).collect();
        for per_task in [1, 2, 5, 1000] {
            let shards = Shards::deal(&plan, &due, per_task, 1).unwrap();
            let hit =
                |&&unit: &&u32| shards.tasks.contains(&(shard_of(&plan, unit, shards.count) + 1));
            assert_eq!(due.iter().filter(hit).count(), due.len());
            for &task in &shards.tasks {
                let is_in = |unit: &u32| shard_of(&plan, *unit, shards.count) == task - 1;
                assert!((1..=shards.count).contains(&task) && due.iter().any(is_in));
            }
        }
        assert_eq!(Shards::deal(&plan, &[], 4, 1), None);
    }

    #[test]
    fn missing_units_that_meet_in_one_shard_are_dealt_again() {
        let plan = plan();
        // All arms of the first two sources under one condition that share a shard of two.
        let due: Vec<u32> = (0..plan.units.len() as u32)
            .filter(|&u| {
                plan.units[u as usize].condition == 0
                    && plan.units[u as usize].source.is_multiple_of(2)
            })
            .collect();
        let naive = Shards::of(&plan, &due, 2);
        assert_eq!((naive.tasks.len(), naive.largest), (1, due.len()));
        let dealt = Shards::deal(&plan, &due, due.len() as u32 / 2, 1).unwrap();
        assert_eq!((dealt.tasks.len(), dealt.largest), (2, due.len() / 2));
    }

    #[test]
    fn nodes_are_all_given_something() {
        let plan = plan();
        let due: Vec<u32> = (0..plan.units.len() as u32).collect();
        assert_eq!(Shards::deal(&plan, &due, 1000, 1).unwrap().tasks.len(), 1);
        assert!(Shards::deal(&plan, &due, 1000, 4).unwrap().tasks.len() >= 4);
    }

    #[test]
    fn indices_are_written_as_ranges() {
        let array = |tasks: &[u64]| {
            Shards { count: 20, tasks: tasks.to_vec(), units: 1, largest: 1 }.array()
        };
        assert_eq!(array(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(array(&[4]), "4");
    }

    #[test]
    fn failures_are_due_only_when_asked_for_and_blocked_units_never() {
        use UnitState::{Blocked, Done, Failed, Interrupted, Pending, Running};
        let states = [Done, Running, Interrupted, Failed, Blocked, Pending];
        assert_eq!(due(&states, false), [1, 2, 5]);
        assert_eq!(due(&states, true), [3]);
    }
}
