//! Which states are measured: from options to restored checkpoints.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut_engine::{Cpu, Cut};
use backcut_measure::{MeasureError, Subject};
use backcut_systems::quadrotor::Quadrotor;
use backcut_systems::{BatchKey, System};
use backcut_training::checkpoint::Header;
use backcut_training::{Folder, State};

use super::study_states::{Kept, kept};
use crate::quadrotor::{describe, load, parse_cut, settings, user};

/// Options that every measurement shares.
#[derive(Debug, clap::Args)]
pub struct StateArgs {
    /// Checkpoints, or folders of runs (their latest state); several give medians over states
    #[arg(long = "checkpoint", value_name = "FILE", num_args = 1.., required_unless_present_any = ["define", "study"])]
    checkpoints: Vec<PathBuf>,
    /// The kept states of a results folder, as `backcut study run` fills it
    #[arg(long, value_name = "DIR", conflicts_with = "checkpoints")]
    study: Option<PathBuf>,
    /// Only these arms and conditions of --study
    #[arg(long, value_name = "ARM@CONDITION", num_args = 1.., requires = "study")]
    of: Vec<String>,
    /// Only states of --study after this many updates
    #[arg(long, value_name = "UPDATE", requires = "study")]
    at: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the findings as a tidy CSV, and figures, into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print what every quantity of this command is, and measure nothing
    #[arg(long)]
    pub define: bool,
}

/// A state with a name, complete.
pub struct Restored {
    /// `folder@update`, unique among the states.
    pub label: String,
    /// The checkpoint's file.
    pub path: PathBuf,
    /// What the checkpoint says of itself.
    pub header: Header,
    /// Parameters, moments, counters.
    pub state: State<f32>,
    /// Its system in [`States::systems`].
    pub system: usize,
}

/// The states to measure, with one system for all that share its configuration.
pub struct States {
    /// Distinct systems.
    pub systems: Vec<Quadrotor>,
    /// The states in the order given.
    pub all: Vec<Restored>,
}

impl StateArgs {
    /// Reads and restores every state. Whatever else can name states is resolved here.
    pub fn restore(&self) -> Result<States> {
        let Some(folder) = &self.study else { return States::restore(&self.checkpoints) };
        let mut states = States { systems: Vec::new(), all: Vec::new() };
        for Kept { label, path } in kept(folder, &self.of, self.at)? {
            states.add(path)?;
            if let Some(last) = states.all.last_mut() {
                last.label = label;
            }
        }
        Ok(states)
    }
}

impl States {
    /// Reads and restores checkpoints; a folder stands for its run's latest state.
    pub fn restore(paths: &[PathBuf]) -> Result<Self> {
        let mut states = Self { systems: Vec::new(), all: Vec::new() };
        for path in paths {
            let file = if path.is_dir() { Folder::new(path).checkpoint() } else { path.clone() };
            states.add(file)?;
        }
        Ok(states)
    }

    fn add(&mut self, path: PathBuf) -> Result<()> {
        let checkpoint = load(&path)?;
        let header = checkpoint.header().clone();
        let config = settings(&header.config.system)?;
        let known = self.systems.iter().position(|s| *s.config() == config);
        let system = if let Some(known) = known {
            known
        } else {
            self.systems.push(config.check().map_err(|e| user(&e, e.hint()))?);
            self.systems.len() - 1
        };
        let layout = System::<f32>::program(&self.systems[system]).layout();
        let state = checkpoint.state(layout).map_err(|e| user(&e, e.hint()))?;
        let label = self.label(&path, header.update);
        self.all.push(Restored { label, path, header, state, system });
        Ok(())
    }

    fn label(&self, path: &Path, update: u64) -> String {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = absolute.parent().and_then(Path::file_name).unwrap_or_default();
        let label = format!("{}@{update}", folder.to_string_lossy());
        let again = self.all.iter().filter(|s| s.label.split('#').next() == Some(&label)).count();
        if again == 0 { label } else { format!("{label}#{}", again + 1) }
    }

    /// The system of a state.
    pub fn system(&self, state: &Restored) -> &Quadrotor {
        &self.systems[state.system]
    }

    /// A state as measurements see it: with the optimizer and the batch that come next.
    pub fn subject<'a>(&'a self, restored: &'a Restored) -> Subject<'a> {
        let Header { config, stream, .. } = &restored.header;
        let update = restored.state.update;
        Subject {
            executor: Cpu::detect(),
            system: self.system(restored),
            state: &restored.state,
            optimizer: config.optimizer,
            key: BatchKey { seed: config.seed, stream: *stream, update },
        }
    }

    /// The lines that introduce a result.
    pub fn introduction(&self) -> String {
        let [only] = self.all.as_slice() else {
            return format!("{} states, medians [16th, 84th percentile]", self.all.len());
        };
        let Header { config, update, .. } = &only.header;
        let system = describe(self.system(only).config());
        format!(
            "{}: quadrotor, {system}, {update} updates of seed {} under {}",
            only.label, config.seed, config.cut
        )
    }
}

/// Parses a list of cuts.
pub fn parse_cuts(texts: &[String]) -> Result<Vec<Cut>> {
    texts.iter().map(|text| parse_cut(text)).collect()
}

/// An error of a measurement, with the state it happened at.
pub fn at(label: &str) -> impl Fn(MeasureError) -> anyhow::Error {
    move |error| user(format!("{label}: {error}"), error.hint())
}
