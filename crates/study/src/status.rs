//! Where a study stands: the plan against the files. The queue of a scheduler plays no part.

use std::time::Duration;

pub use backcut_evidence::tables::UnitState;

use crate::claim::{Claims, Seen};
use crate::error::StudyError;
use crate::plan::Plan;
use crate::store::{Recorded, Store};
use crate::unit::UnitId;

/// The states of all units of a plan, by index.
pub fn states(
    plan: &Plan,
    store: &Store,
    stale_after: Duration,
) -> Result<Vec<UnitState>, StudyError> {
    let units: Vec<UnitId> = plan.units.iter().map(|unit| unit.id).collect();
    let mut states = states_of(&units, store, stale_after)?;
    for (i, unit) in plan.units.iter().enumerate() {
        let is_stuck =
            |n: &u32| matches!(states[*n as usize], UnitState::Failed | UnitState::Blocked);
        if states[i] == UnitState::Pending && unit.needs.iter().flatten().any(is_stuck) {
            states[i] = UnitState::Blocked;
        }
    }
    Ok(states)
}

/// The states of units whose plan is not at hand: what is blocked counts as pending.
pub fn states_of(
    units: &[UnitId],
    store: &Store,
    stale_after: Duration,
) -> Result<Vec<UnitState>, StudyError> {
    let found = store.scan()?;
    let begun = store.begun()?;
    let claims = Claims::look_at(store.claims(), stale_after);
    let state = |id: &UnitId| match found.get(id) {
        Some(Recorded::Done) => UnitState::Done,
        Some(Recorded::Failed) => UnitState::Failed,
        None if begun.binary_search(id).is_ok() => match claims.look(id) {
            Seen::Held(_) => UnitState::Running,
            Seen::Stale(_) | Seen::Free => UnitState::Interrupted,
        },
        None => UnitState::Pending,
    };
    Ok(units.iter().map(state).collect())
}

/// How many units are in each state, in the order of [`UnitState::ALL`].
pub fn counts(states: &[UnitState]) -> [usize; 6] {
    UnitState::ALL.map(|state| states.iter().filter(|s| **s == state).count())
}
