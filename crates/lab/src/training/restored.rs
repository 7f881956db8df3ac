//! A checkpoint together with the system it belongs to.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use backcut_systems::{BatchKey, Built, Catalogue, Optimizer, SettingsError};
use backcut_text::Hinted;

use crate::training::checkpoint::{Branch, Checkpoint, CheckpointError, Header};
use crate::training::optimizer::Moments;
use crate::training::trainer::State;

/// A state restored completely: what measurements look at, and what branches start from.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The system it was trained on.
    pub built: Arc<Built>,
    /// What the checkpoint says of itself.
    pub header: Header,
    /// Parameters, moments, counters.
    pub state: State<f32>,
}

/// A checkpoint that could not be brought back to life.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The file cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Its system cannot be built.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl Hinted for RestoreError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Checkpoint(error) => error.hint(),
            Self::Settings(error) => error.hint(),
        }
    }
}

impl Restored {
    /// Reads a checkpoint and builds its system.
    pub fn load(catalogue: &Catalogue, path: &Path) -> Result<Self, RestoreError> {
        Self::new(catalogue, &Checkpoint::load(path)?)
    }

    /// From a checkpoint that was read.
    pub fn new(catalogue: &Catalogue, checkpoint: &Checkpoint) -> Result<Self, RestoreError> {
        let header = checkpoint.header().clone();
        let built = catalogue.restore(&header.config.system)?;
        let state = checkpoint.state(built.system().program().layout())?;
        Ok(Self { built, header, state })
    }

    /// The optimizer it was trained with.
    pub fn optimizer(&self) -> &Optimizer {
        &self.header.config.optimizer
    }

    /// The batch that comes next.
    pub fn next_batch(&self) -> BatchKey {
        let Header { config, stream, .. } = &self.header;
        BatchKey { seed: config.seed, stream: *stream, update: self.state.update }
    }

    /// Where a branch under `built` starts. Another phase keeps the parameters and begins its
    /// optimizer anew, and so does an optimizer whose memory means something else (SGD's velocity
    /// against Adam's moments); anything else carries over whole.
    pub fn branch(&self, built: &Built, optimizer: &Optimizer) -> Branch {
        let mut state = self.state.clone();
        if built.phase != self.built.phase || !optimizer.remembers_like(self.optimizer()) {
            state.moments = Moments::zeros(state.params.len());
        }
        Branch { start: self.header.start(), state }
    }
}
