//! What training and measurement need to know of a system.

use std::sync::Arc;

use backcut_engine::{Draw, ForwardSpec, Program, Rollout};
use backcut_kernels::Real;

/// Which sampling stream a batch comes from. Stream b is the same sampler at seeds + 10^9; it
/// changes batches and noise, never the initialisation.
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

impl BatchKey {
    /// What the update draws for cuts that leave something to chance.
    pub fn draw(self) -> Draw {
        Draw::new(self.seed.wrapping_add(self.stream.offset()), self.update)
    }
}

/// The source whose batches are the panel of a system that draws none of its own; study files
/// cannot name a seed this large.
const PANEL_SEED: u64 = 1 << 63;

/// Why a batch or a panel could not be drawn: what is missing or damaged in the data, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no batch: {0}")]
pub struct SampleError(pub String);

/// What a plain prediction achieves, without a policy.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// What it does, as `constant velocity`.
    pub name: &'static str,
    /// Its error on each trajectory of the panel, as [`System::row_errors`] measures it.
    pub errors: Vec<f64>,
    /// Its mean error over the panel after each step, as [`System::step_errors`] measures it; empty
    /// where that has no meaning.
    pub steps: Vec<f64>,
}

/// A system: a step program with the sampler of its batches and its evaluation.
///
/// Four things must be said: the program, the steps, the rows of a batch, and how a batch is
/// filled. The rest has honest defaults: no change of the forward, a panel of batches that no
/// source trains on, the loss as the error.
pub trait System<R: Real>: Send + Sync {
    /// The compiled step.
    fn program(&self) -> &Arc<Program>;

    /// Steps of a rollout.
    fn steps(&self) -> usize;

    /// Rows of a training batch.
    fn batch_rows(&self) -> usize;

    /// Fills a rollout with a training batch: a function of the key alone. Inputs, initial values,
    /// and whatever the [`spec`](Self::spec) declares as fed from outside (teacher forcing) are
    /// written here.
    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError>;

    /// What changes the forward (windows, a prefix, fed values); the same in training and
    /// evaluation.
    fn spec(&self) -> ForwardSpec<R> {
        ForwardSpec::default()
    }

    /// Trajectories of the fixed evaluation panel.
    fn panel_rows(&self) -> usize {
        8 * self.batch_rows()
    }

    /// Trajectories of the panel that are rolled together. A system whose
    /// [`fill_panel`](Self::fill_panel) takes any range may choose what is fastest; a row's bits do
    /// not depend on it.
    fn panel_group(&self) -> usize {
        self.batch_rows()
    }

    /// Fills a rollout with the panel's trajectories `first..first + rollout.rows()`. Without an
    /// implementation, group `i` is batch `i` of a source of its own.
    fn fill_panel(&self, first: usize, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        let rows = self.batch_rows();
        if rollout.rows() != rows || !first.is_multiple_of(rows) {
            let asked = format!("{} trajectories from {first}", rollout.rows());
            return Err(SampleError(format!("{asked} of a panel in groups of {rows}")));
        }
        let update = (first / rows) as u64;
        self.fill_batch(BatchKey { seed: PANEL_SEED, stream: Stream::A, update }, rollout)
    }

    /// The evaluation error of each row of a finished rollout. Without an implementation, its loss.
    fn row_errors(&self, rollout: &Rollout<R>, errors: &mut [f64]) {
        let loss = rollout.row_loss().unwrap_or_default();
        errors[..loss.len()].copy_from_slice(loss);
    }

    /// Steps of a finished rollout, over all rows, at which a safeguard of the system's own changed
    /// the forward (a vessel that is held off a pole). On real data there should be none.
    fn safeguarded(&self, rollout: &Rollout<R>) -> usize {
        let _ = rollout;
        0
    }

    /// The errors of a plain prediction on the panel, for systems that have one to be compared
    /// with.
    fn reference(&self) -> Result<Option<Reference>, SampleError> {
        Ok(None)
    }

    /// SHA-256 of the data it reads, hexadecimal: part of the identity of everything trained on it.
    fn data_hash(&self) -> Option<String> {
        None
    }

    /// The numbers behind a batch that its inputs do not show, for `export`: name, shape, values.
    fn raw_batch(&self, key: BatchKey) -> Vec<(String, Vec<usize>, Vec<f64>)> {
        let _ = key;
        Vec::new()
    }

    /// The same behind the panel.
    fn raw_panel(&self) -> Vec<(String, Vec<usize>, Vec<f64>)> {
        Vec::new()
    }

    /// The stratum and the segment (as a vessel and one of its tracks) that a trajectory of the
    /// panel comes from: those of one segment are no independent witnesses. `None` where each
    /// stands for itself.
    fn panel_segment(&self, row: usize) -> Option<(String, String)> {
        let _ = row;
        None
    }

    /// The error after each step that is predicted, of one row of a finished rollout:
    /// [`row_errors`]( Self::row_errors) is their mean. Empty where that has no meaning.
    fn step_errors(&self, rollout: &Rollout<R>, row: usize) -> Vec<f64> {
        let _ = (rollout, row);
        Vec::new()
    }

    /// What another program must know to compute a rollout, and neither settings nor inputs show,
    /// for `export`: scales of the data, sizes that a setting's name stands for.
    fn constants(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    /// Units of the state `s_t` of a row, for measurements that compare entries of different kinds:
    /// the diagonal of `D_t`, all states together in the program's order, with `t` from 0 (the
    /// initial state) to the number of steps. They come from data, so no derivative passes through
    /// them. Without an implementation every entry counts in its own unit.
    fn state_scales(&self, rollout: &Rollout<R>, t: usize, row: usize, scales: &mut [f64]) {
        let _ = (rollout, t, row);
        scales.fill(1.0);
    }
}
