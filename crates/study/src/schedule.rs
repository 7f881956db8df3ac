//! Which units a run computes, in which order: what is ready, what waits for what.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::error::StudyError;
use crate::plan::Plan;
use crate::store::{Recorded, Store};
use crate::study::Study;
use crate::unit::UnitId;

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Units at a time.
    pub jobs: NonZeroUsize,
    /// This part of that many: `(1, 4)` is the first of four.
    pub shard: Option<(u64, u64)>,
    /// Compute only what failed before.
    pub only_failed: bool,
    /// Start nothing more after a failure.
    pub fail_fast: bool,
    /// A claim of another host is stale when its beat has stood still this long.
    pub stale_after: Duration,
    /// Save the state of a long unit this often.
    pub save_after: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            jobs: NonZeroUsize::MIN,
            shard: None,
            only_failed: false,
            fail_fast: false,
            stale_after: Duration::from_mins(1),
            save_after: Duration::from_secs(30),
        }
    }
}

/// What a run came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Units of this run (its shard).
    pub units: usize,
    /// Were there before.
    pub reused: usize,
    /// Computed now.
    pub computed: usize,
    /// Computed now by other processes.
    pub elsewhere: usize,
    /// Failed, now or before.
    pub failed: usize,
    /// Could not begin, because what they start from failed.
    pub blocked: usize,
    /// Left for another time.
    pub left: usize,
}

/// Which shard a unit belongs to: units that start from one another stay together, on whatever grid
/// they were planned.
pub fn shard_of(plan: &Plan, unit: u32, shards: u64) -> u64 {
    let mut unit = &plan.units[unit as usize];
    while let Some(start) = unit.needs[0] {
        unit = &plan.units[start as usize];
    }
    // Sources and conditions in the order of the plan, dealt out like cards; a prime larger than
    // any number of shards in use keeps the conditions of a source apart.
    (u64::from(unit.condition).wrapping_mul(7919) + u64::from(unit.source)) % shards.max(1)
}

/// Where a unit stands in this run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnitStage {
    /// Not of this run.
    Outside,
    Waiting,
    Ready,
    Running,
    Held,
    Done,
    Failed,
}

/// What is ready, running and held.
pub(crate) struct Schedule {
    pub stages: Vec<UnitStage>,
    /// How many needed units are not done yet.
    pub missing: Vec<u8>,
    pub ready: BTreeSet<u32>,
    pub held: BTreeSet<u32>,
    pub running: usize,
    pub is_ending: bool,
    pub error: Option<StudyError>,
}

/// Units that wait for one that failed.
pub(crate) fn blocked(plan: &Plan, stages: &[UnitStage]) -> Vec<bool> {
    let mut is_blocked = vec![false; stages.len()];
    for (index, unit) in plan.units.iter().enumerate() {
        let needs = unit.needs.iter().flatten();
        let by = |n: &u32| stages[*n as usize] == UnitStage::Failed || is_blocked[*n as usize];
        is_blocked[index] = stages[index] == UnitStage::Waiting && needs.clone().any(by);
    }
    is_blocked
}

/// Whether a unit belongs to this run's shard.
pub(crate) fn is_ours(plan: &Plan, options: &RunOptions, unit: u32) -> bool {
    options.shard.is_none_or(|(i, n)| shard_of(plan, unit, n) == i - 1)
}

/// The units of this run in the stages that the listing gives them, who waits for whom, and what is
/// there.
pub(crate) fn schedule(
    study: &Study,
    plan: &Plan,
    store: &Store,
    options: &RunOptions,
    found: &HashMap<UnitId, Recorded>,
) -> (Schedule, Vec<Vec<u32>>, Tally) {
    let count = plan.units.len();
    let mut stages = vec![UnitStage::Outside; count];
    let mut tally = Tally::default();
    for index in 0..count as u32 {
        let is_ours = is_ours(plan, options, index);
        let recorded = found.get(&plan.units[index as usize].id);
        stages[index as usize] = match recorded {
            Some(Recorded::Done) => UnitStage::Done,
            Some(Recorded::Failed) if options.only_failed && is_ours => UnitStage::Waiting,
            Some(Recorded::Failed) => UnitStage::Failed,
            None if options.only_failed || !is_ours => UnitStage::Outside,
            None => UnitStage::Waiting,
        };
        tally.reused += usize::from(is_ours && stages[index as usize] == UnitStage::Done);
    }
    // A result whose checkpoint is needed and not there is computed again, for the checkpoint.
    for index in (0..count).rev() {
        if stages[index] != UnitStage::Waiting {
            continue;
        }
        for (need, update) in plan.needed(study, index as u32) {
            let stage = &mut stages[need as usize];
            let id = &plan.units[need as usize].id;
            if *stage == UnitStage::Done && !store.has_state(id, update) {
                *stage = UnitStage::Waiting;
                tally.reused -= usize::from(is_ours(plan, options, need));
            }
        }
    }
    let mut children = vec![Vec::new(); count];
    let mut missing = vec![0; count];
    let mut ready = BTreeSet::new();
    for (index, unit) in plan.units.iter().enumerate() {
        for need in unit.needs.iter().flatten() {
            children[*need as usize].push(index as u32);
            missing[index] += u8::from(stages[*need as usize] != UnitStage::Done);
        }
        if stages[index] == UnitStage::Waiting && missing[index] == 0 {
            stages[index] = UnitStage::Ready;
            ready.insert(index as u32);
        }
    }
    let (held, running, is_ending, error) = (BTreeSet::new(), 0, false, None);
    (Schedule { stages, missing, ready, held, running, is_ending, error }, children, tally)
}
