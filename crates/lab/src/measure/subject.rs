//! What is measured: a system, a complete state, and the batch that comes next.

use crate::training::{Optimizer, Restored, State};
use backcut_systems::{BatchKey, System};

/// A state restored completely, with the optimizer and the batch of the update that would follow.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// What computes.
    /// The system, with the forward it was trained with.
    pub system: &'a dyn System<f32>,
    /// Parameters, moments, and the count of updates.
    pub state: &'a State<f32>,
    /// Clip and optimizer, as they would be applied next.
    pub optimizer: &'a Optimizer,
    /// The batch of the next update: seed and stream of the arm, `update = state.update`.
    pub key: BatchKey,
}

impl<'a> Subject<'a> {
    /// A restored state, with the optimizer and the batch that come next.
    pub fn of(restored: &'a Restored) -> Self {
        Self {
            system: restored.built.system(),
            state: &restored.state,
            optimizer: restored.optimizer(),
            key: restored.next_batch(),
        }
    }
}
