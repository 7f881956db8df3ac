//! A run in a folder: train, log, evaluate, save; after a kill at any instant, continue to the same
//! bits.
//!
//! | file | holds |
//! | --- | --- |
//! | `config.json` | the canonical configuration; written last of the initial files, so its presence means that the others exist |
//! | `checkpoint.safetensors` | the latest saved state; at the end, the final one |
//! | `checkpoint-000800.safetensors` | states that were asked to be kept |
//! | `log.bin` | one record per update ([`crate::training::log`]) |
//! | `panels.csv` | per-trajectory errors of every evaluation |
//! | `lock` | held while a process trains here |
//!
//! **Order is the whole trick.** The log is synced before the checkpoint that it leads to takes its
//! place, so whatever a kill leaves, log and panels reach at least as far as the checkpoint; what
//! reaches further is cut off on resume and computed again, to the same bits.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use backcut_systems::System;

use crate::training::checkpoint::{self, Branch, Checkpoint};
use crate::training::config::{ValidRun, differences};
use crate::training::evaluate::Panel;
use crate::training::folder::{Folder, RunError};
use crate::training::log::{LogWriter, Record};
use crate::training::panels::{self, Panels};
use crate::training::trainer::{State, UpdateLog};
use crate::training::training_loop::{Completed, Training};

/// How to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// In a folder without a run.
    Fresh,
    /// Where the run in the folder stopped; at the beginning, if a kill left nothing to continue.
    Resume,
}

/// What does not change a run's results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// Save the state every so many updates.
    pub save_every: u64,
    /// Updates whose state is kept in a file of its own.
    pub keep: Vec<u64>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { save_every: 1000, keep: Vec::new() }
    }
}

/// What a caller may ask for after an update. Clocks and signals are the caller's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Go on.
    Continue,
    /// Save the state, then go on.
    Save,
    /// Save the state and return.
    Stop,
}

/// What a caller sees after an update.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The update.
    pub update: &'a UpdateLog,
    /// The panel, where it was evaluated.
    pub evaluation: Option<&'a Panel>,
    /// Updates clipped so far in this run.
    pub clipped: u64,
}

/// Where a run stands when `run` returns.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// Updates done.
    pub update: u64,
    /// All that were asked for.
    pub is_finished: bool,
    /// The update at which this call began.
    pub began: u64,
    /// Updates of this run (a branch counts its own) whose gradient was clipped.
    pub clipped: u64,
    /// Evaluations of this run.
    pub panels: Panels,
}

/// Trains in a folder until the configured updates are done or `progress` says stop.
///
/// A branch passes the checkpoint it starts from; parameters, moments and counters carry over.
pub fn run(
    system: &dyn System<f32>,
    config: &ValidRun,
    from: Option<&Branch>,
    folder: &Folder,
    begin: Begin,
    options: &RunOptions,
    progress: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Summary, RunError> {
    let io = |source| RunError::Io { path: folder.path().to_owned(), source };
    fs::create_dir_all(folder.path()).map_err(io)?;
    let found = find(folder, config)?;
    let lock = File::options().create(true).append(true).open(folder.lock()).map_err(io)?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => RunError::Locked { path: folder.path().to_owned() },
        TryLockError::Error(source) => io(source),
    })?;
    folder.sweep();
    // Looked at again: another process may have begun or finished it in between.
    let found = if found.is_none() { find(folder, config)? } else { found };
    match (begin, found) {
        (_, None) => create(system, config, from, folder)?,
        (Begin::Resume, Some(_)) => {}
        (Begin::Fresh, Some(update)) => {
            let path = folder.path().to_owned();
            let is_finished = update >= config.config().updates;
            return Err(if is_finished {
                RunError::Finished { path, update }
            } else {
                RunError::Unfinished { path, update }
            });
        }
    }
    ActiveRun::open(system, config, folder, options)?.train(progress)
}

/// The saved update of this very run in the folder; an error if another lives there.
fn find(folder: &Folder, config: &ValidRun) -> Result<Option<u64>, RunError> {
    let io = |source| RunError::Io { path: folder.config(), source };
    if !folder.config().try_exists().map_err(io)? {
        return match folder.stranger().map_err(io)? {
            Some(entry) => Err(RunError::Occupied { path: folder.path().to_owned(), entry }),
            None if holds_anothers_state(folder, config) => {
                let entry = "checkpoint.safetensors".to_owned();
                Err(RunError::Occupied { path: folder.path().to_owned(), entry })
            }
            None => Ok(None),
        };
    }
    let theirs = backcut_files::read_text(&folder.config()).map_err(io)?;
    if theirs.trim_end() != config.json() {
        let parse = |text: &str| serde_json::from_str(text).unwrap_or_default();
        let lines = differences(&parse(config.json()), &parse(&theirs));
        return Err(RunError::Different { path: folder.path().to_owned(), lines });
    }
    Ok(Some(Checkpoint::load(&folder.checkpoint())?.header().update))
}

/// A checkpoint without a configuration beside it: only this run's own first one, from a start that
/// was interrupted, may be replaced.
fn holds_anothers_state(folder: &Folder, config: &ValidRun) -> bool {
    let path = folder.checkpoint();
    let start = config.config().start.as_ref().map_or(0, |s| s.update);
    path.exists()
        && Checkpoint::load(&path).map_or(true, |checkpoint| {
            let header = checkpoint.header();
            header.config_hash != config.hash() || header.update != start
        })
}

fn create(
    system: &dyn System<f32>,
    config: &ValidRun,
    from: Option<&Branch>,
    folder: &Folder,
) -> Result<(), RunError> {
    if from.map(|from| &from.start) != config.config().start.as_ref() {
        return Err(RunError::WrongStart);
    }
    let state = match from {
        Some(from) => from.state.clone(),
        None => State::initial(system, config.config().seed),
    };
    checkpoint::save(&folder.checkpoint(), system.program().layout(), &state, config)?;
    LogWriter::create(&folder.log())?;
    let io = |source| RunError::Io { path: folder.path().to_owned(), source };
    backcut_files::replace(&folder.panels(), panels::to_csv(&Vec::new()).as_bytes()).map_err(io)?;
    backcut_files::replace(&folder.config(), format!("{}\n", config.json()).as_bytes()).map_err(io)
}

/// A run being trained in its folder.
struct ActiveRun<'a> {
    training: Training<'a>,
    folder: &'a Folder,
    options: &'a RunOptions,
    log: LogWriter,
    began: u64,
    saved: u64,
}

impl<'a> ActiveRun<'a> {
    fn open(
        system: &'a dyn System<f32>,
        config: &'a ValidRun,
        folder: &'a Folder,
        options: &'a RunOptions,
    ) -> Result<Self, RunError> {
        let snapshot = folder.load(config, system.program().layout())?;
        let log = LogWriter::after(&folder.log(), &snapshot.records)?;
        let (began, saved) = (snapshot.state.update, snapshot.state.update);
        let training = Training::resume(system, config, snapshot)?;
        Ok(Self { training, folder, options, log, began, saved })
    }

    fn train(
        mut self,
        progress: &mut dyn FnMut(&Progress) -> Control,
    ) -> Result<Summary, RunError> {
        let mut control = Control::Continue;
        let mut clipped = self.training.clipped();
        while control != Control::Stop
            && let Some(completed) = self.training.next()
        {
            let completed = match completed {
                Ok(completed) => completed,
                Err(error) => {
                    self.log.sync()?; // the norms that led here are worth reading
                    return Err(error.into());
                }
            };
            let Completed { update, panel } = &completed;
            let evaluation = panel.as_ref();
            if evaluation.is_some() {
                let csv = panels::to_csv(self.training.panels());
                write(&self.folder.panels(), csv.as_bytes())?;
            }
            self.log.append(Record { update: *update, evaluation: evaluation.map(|p| p.mean) })?;
            clipped += u64::from(update.is_clipped());
            control = progress(&Progress { update, evaluation, clipped });
            if self.options.keep.contains(&update.update) {
                write(&self.folder.kept(update.update), &self.training.checkpoint())?;
            }
            let is_due = update.update - self.saved >= self.options.save_every.max(1);
            if is_due || control != Control::Continue || self.training.is_finished() {
                self.log.sync()?;
                write(&self.folder.checkpoint(), &self.training.checkpoint())?;
                self.saved = update.update;
            }
        }
        let (update, is_finished) = (self.training.update(), self.training.is_finished());
        let panels = self.training.panels().clone();
        Ok(Summary { update, is_finished, began: self.began, clipped, panels })
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    backcut_files::replace(path, bytes)
        .map_err(|source| RunError::Io { path: path.to_owned(), source })
}
