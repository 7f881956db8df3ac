//! Checkpoints as typed, resolved into states to measure.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut_engine::Cut;
use backcut_measure::{MeasureError, Subject};
use backcut_systems::quadrotor::Quadrotor;
use backcut_systems::{BatchKey, System};
use backcut_training::{Folder, Optimizer, State};

use crate::quadrotor::{describe, load, settings, user};

/// Options that name states.
#[derive(Debug, clap::Args)]
pub struct StateArgs {
    /// Checkpoints, or folders of runs
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "define")]
    checkpoint: Vec<PathBuf>,
    /// Print how every quantity is defined
    #[arg(long)]
    pub define: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write a tidy table (CSV) into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl StateArgs {
    /// Every state that was named, in the order of the command line.
    pub fn states(&self) -> Result<Vec<Loaded>> {
        self.checkpoint.iter().map(|path| Loaded::new(path)).collect()
    }
}

/// A state and all that a subject borrows.
pub struct Loaded {
    /// How it is called in tables: the path as typed.
    pub label: String,
    /// The system with the forward it was trained with.
    pub system: Quadrotor,
    /// The cut it was trained under.
    pub cut: Cut,
    /// The source's seed.
    pub seed: u64,
    state: State<f32>,
    optimizer: Optimizer,
    key: BatchKey,
}

impl Loaded {
    /// Reads a checkpoint, or the last one of a run's folder.
    pub fn new(path: &Path) -> Result<Self> {
        let file = if path.is_dir() { Folder::new(path).checkpoint() } else { path.to_owned() };
        let checkpoint = load(&file)?;
        let config = &checkpoint.header().config;
        let system = settings(&config.system)?.check().map_err(|e| user(&e, e.hint()))?;
        let layout = System::<f32>::program(&system).layout();
        let state = checkpoint.state(layout).map_err(|e| user(&e, e.hint()))?;
        let key = BatchKey { seed: config.seed, stream: config.stream, update: state.update };
        Ok(Self {
            label: path.display().to_string(),
            system,
            cut: config.cut,
            seed: config.seed,
            state,
            optimizer: config.optimizer,
            key,
        })
    }

    /// What is measured.
    pub fn subject(&self) -> Subject<'_> {
        let Self { system, state, optimizer, key, .. } = self;
        Subject { system, state, optimizer: *optimizer, key: *key }
    }

    /// Two lines that say which state this is.
    pub fn heading(&self) -> String {
        let Self { label, cut, seed, state, .. } = self;
        let forward = describe(self.system.config());
        format!("{label}\n  update {}, cut {cut}, seed {seed}, {forward}", state.update)
    }
}

/// A measurement that could not be made, with its hint.
pub fn measured<T>(label: &str, result: Result<T, MeasureError>) -> Result<T> {
    result.map_err(|error| user(format!("{label}: {error}"), error.hint()))
}
