//! What training and measurement need to know of a system.

use std::sync::Arc;

use backcut_engine::{ForwardSpec, Program, Rollout};
use backcut_kernels::Real;

/// Which sampling stream a batch comes from. Stream b is the same sampler at seeds + 10^9; it changes
/// batches and noise, never the initialisation.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// The original stream.
    #[default]
    A,
    /// An independent one.
    B,
}

impl Stream {
    /// What is added to a seed.
    pub fn offset(self) -> u64 {
        match self {
            Self::A => 0,
            Self::B => 1_000_000_000,
        }
    }
}

/// Names one training batch: the same key gives every arm and condition the same base trajectories
/// and the same standardised noise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BatchKey {
    /// The source's seed.
    pub seed: u64,
    /// The stream.
    pub stream: Stream,
    /// The update, counted from 0.
    pub update: u64,
}

/// A system: a step program with the sampler of its batches and its evaluation.
pub trait System<R: Real>: Send + Sync {
    /// Its name on the command line and in files.
    fn name(&self) -> &'static str;

    /// The compiled step.
    fn program(&self) -> &Arc<Program>;

    /// What changes the forward (windows); the same in training and evaluation.
    fn spec(&self) -> ForwardSpec<R>;

    /// Steps of a rollout.
    fn steps(&self) -> usize;

    /// Rows of a training batch.
    fn batch_rows(&self) -> usize;

    /// Fills the inputs of a rollout with a training batch.
    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>);

    /// Trajectories of the fixed evaluation panel.
    fn panel_rows(&self) -> usize;

    /// Fills the inputs of a rollout with the panel's trajectories `first..first + rollout.rows()`.
    fn fill_panel(&self, first: usize, rollout: &mut Rollout<R>);

    /// The evaluation error of each row of a finished rollout.
    fn row_errors(&self, rollout: &Rollout<R>, errors: &mut [f64]);

    /// Units of the state `s_t` of a row, for measurements that compare entries of different kinds:
    /// the diagonal of `D_t`, all states together in the program's order, with `t` from 0 (the initial
    /// state) to the number of steps. They come from data, so no derivative passes through them.
    /// Without an implementation every entry counts in its own unit.
    fn state_scales(&self, rollout: &Rollout<R>, t: usize, row: usize, scales: &mut [f64]) {
        let _ = (rollout, t, row);
        scales.fill(1.0);
    }
}
