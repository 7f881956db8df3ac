//! Which states are measured: from options to restored checkpoints.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use backcut_engine::Cut;
use backcut_lab::measure::{Finding, Rig, Subject};
use backcut_lab::training::Restored;
use backcut_study::Tools;
use backcut_systems::Built;

use super::study_states::{Kept, kept};
use crate::common::{described, latest, parse_cut};
use crate::exit::{Told as _, user};

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
    #[arg(long, value_name = "ARM@CONDITION", num_args = 1.., requires = "study", conflicts_with = "checkpoints")]
    of: Vec<String>,
    /// Only states of --study after this many updates
    #[arg(long, value_name = "UPDATE", requires = "study", conflicts_with = "checkpoints")]
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
pub struct Named {
    /// `folder@update`, unique among the states.
    pub label: String,
    /// The checkpoint's file.
    pub path: PathBuf,
    /// The state with its system.
    pub restored: Restored,
}

/// The states to measure, and what measures them.
pub struct States<'a> {
    /// Systems, and what runs them.
    pub tools: Tools<'a>,
    /// The states in the order given.
    pub all: Vec<Named>,
}

impl StateArgs {
    /// Reads and restores every state. Whatever else can name states is resolved here.
    pub fn restore<'a>(&self, tools: Tools<'a>) -> Result<States<'a>> {
        let mut states = States { tools, all: Vec::new() };
        let Some(folder) = &self.study else {
            for path in &self.checkpoints {
                states.add(latest(path), None)?;
            }
            return Ok(states);
        };
        for Kept { label, path } in kept(folder, &self.of, self.at)? {
            states.add(path, Some(label))?;
        }
        Ok(states)
    }
}

impl States<'_> {
    fn add(&mut self, path: PathBuf, label: Option<String>) -> Result<()> {
        let restored = Restored::load(self.tools.catalogue, &path);
        let restored = restored.told()?;
        let name = |restored: &Restored| restored.header.config.system.name.clone();
        if let Some(first) = self.all.first().filter(|s| name(&s.restored) != name(&restored)) {
            let (a, b) = (name(&first.restored), name(&restored));
            let what = format!(
                "{} is of the {a}, {} of the {b}: no median holds both",
                first.path.display(),
                path.display()
            );
            return Err(user(what, "measure the states of one system at a time"));
        }
        let label = label.unwrap_or_else(|| self.label(&path, restored.header.update));
        self.all.push(Named { label, path, restored });
        Ok(())
    }

    fn label(&self, path: &Path, update: u64) -> String {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = absolute.parent().and_then(Path::file_name).unwrap_or_default();
        let label = format!("{}@{update}", folder.to_string_lossy());
        let again = self.all.iter().filter(|s| s.label.split('#').next() == Some(&label)).count();
        if again == 0 { label } else { format!("{label}#{}", again + 1) }
    }

    /// The distinct systems of the states, in the order of their appearance.
    pub fn systems(&self) -> Vec<&Arc<Built>> {
        let mut systems: Vec<&Arc<Built>> = Vec::new();
        for state in &self.all {
            if !systems.iter().any(|known| Arc::ptr_eq(known, &state.restored.built)) {
                systems.push(&state.restored.built);
            }
        }
        systems
    }

    /// The place of a state's system among [`systems`](Self::systems).
    fn system_of(&self, state: &Named) -> usize {
        let is_it = |known: &&Arc<Built>| Arc::ptr_eq(known, &state.restored.built);
        self.systems().iter().position(is_it).unwrap_or_default()
    }

    /// What is found at every state.
    pub fn each(
        &self,
        mut find: impl FnMut(&Subject, &Named) -> Result<Vec<Finding>>,
    ) -> Result<Vec<Vec<Finding>>> {
        self.all.iter().map(|state| find(&Subject::of(&state.restored), state)).collect()
    }

    /// The same with the storage that states of one system share, made for `cuts`.
    pub fn each_rig(
        &self,
        cuts: &[Cut],
        is_apart: bool,
        mut find: impl FnMut(&mut Rig<f32>, &Subject, &Named) -> Result<Vec<Finding>>,
    ) -> Result<Vec<Vec<Finding>>> {
        let mut rigs: Vec<Option<Rig<f32>>> = self.systems().iter().map(|_| None).collect();
        let each = self.all.iter().map(|state| {
            let subject = &Subject::of(&state.restored);
            let rig = match &mut rigs[self.system_of(state)] {
                Some(rig) => rig,
                empty => {
                    let rig = Rig::new(subject.system, cuts).told_at(&state.label)?;
                    empty.insert(if is_apart { rig.apart() } else { rig })
                }
            };
            find(rig, subject, state)
        });
        each.collect()
    }

    /// The lines that introduce a result.
    pub fn introduction(&self) -> String {
        let [only] = self.all.as_slice() else {
            return format!("{} states, medians [16th, 84th percentile]", self.all.len());
        };
        let Restored { built, header, .. } = &only.restored;
        let (label, system, updates) = (&only.label, described(built), header.update);
        let (seed, cut) = (header.config.seed, header.config.cut);
        format!("{label}: {system}, {updates} updates of seed {seed} under {cut}")
    }
}

/// The state whose observations are common to all, if one was named.
pub fn reference(path: Option<&PathBuf>, tools: Tools) -> Result<Option<Restored>> {
    path.map(|path| Restored::load(tools.catalogue, &latest(path))).transpose().told()
}

/// Parses a list of cuts.
pub fn parse_cuts(texts: &[String]) -> Result<Vec<Cut>> {
    texts.iter().map(|text| parse_cut(text)).collect()
}
