//! A run in a folder: train, log, evaluate, save; after a kill at any instant, continue to the same bits.
//!
//! | file | holds |
//! | --- | --- |
//! | `config.json` | the canonical configuration; written last of the initial files, so its presence means that the others exist |
//! | `checkpoint.safetensors` | the latest saved state; at the end, the final one |
//! | `checkpoint-000800.safetensors` | states that were asked to be kept |
//! | `log.bin` | one record per update ([`crate::log`]) |
//! | `panels.csv` | per-trajectory errors of every evaluation |
//! | `lock` | held while a process trains here |
//!
//! **Order is the whole trick.** The log is synced before the checkpoint that it leads to takes its
//! place, so whatever a kill leaves, log and panels reach at least as far as the checkpoint; what
//! reaches further is cut off on resume and computed again, to the same bits.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use backcut_engine::Executor;
use backcut_systems::System;

use crate::checkpoint::{self, Checkpoint, CheckpointError};
use crate::config::{ValidRun, differences};
use crate::evaluate::Panel;
use crate::files::write_atomically;
use crate::folder::Folder;
use crate::log::{LogError, LogWriter, Record};
use crate::panels::{self, Panels};
use crate::trainer::{State, TrainError, Trainer, UpdateLog};

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

/// Why a run did not start or did not end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Another run lives there.
    #[error("{} holds another run:\n  {}", path.display(), lines.join("\n  "))]
    Different {
        /// The folder.
        path: PathBuf,
        /// The differences.
        lines: Vec<String>,
    },
    /// The run there is finished.
    #[error("{} holds this run, finished at update {update}", path.display())]
    Finished {
        /// The folder.
        path: PathBuf,
        /// Its last update.
        update: u64,
    },
    /// The run there was interrupted.
    #[error("{} holds this run, stopped at update {update}", path.display())]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// Its last saved update.
        update: u64,
    },
    /// Something else lives there.
    #[error("{} is no run's folder: it holds `{entry}`", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// What was found.
        entry: String,
    },
    /// Another process trains there.
    #[error("{} is in use by another process", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The configuration starts from another checkpoint than the one given.
    #[error("the configuration does not start from the checkpoint that was given")]
    WrongStart,
    /// A checkpoint could not be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The log could not be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
}

impl RunError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the path, its permissions and the free space",
            Self::Different { .. } | Self::Occupied { .. } => "choose another --out",
            Self::Finished { .. } => {
                "a finished run is never overwritten: choose another --out, or remove the folder"
            }
            Self::Unfinished { .. } => "add --resume to continue it, or choose another --out",
            Self::Locked { .. } => "wait for it, or choose another --out",
            Self::WrongStart => "pass the checkpoint that the configuration's `start` names",
            Self::Checkpoint(error) => error.hint(),
            Self::Log(error) => error.hint(),
            Self::Train(error) => error.hint(),
        }
    }
}

/// Trains in a folder until the configured updates are done or `progress` says stop.
///
/// A branch passes the checkpoint it starts from; parameters, moments and counters carry over.
pub fn run(
    executor: &dyn Executor<f32>,
    system: &dyn System<f32>,
    config: &ValidRun,
    from: Option<&Checkpoint>,
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
    ActiveRun::open(executor, system, config, folder, options)?.train(progress)
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
    let theirs = fs::read_to_string(folder.config()).map_err(io)?;
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
    from: Option<&Checkpoint>,
    folder: &Folder,
) -> Result<(), RunError> {
    let layout = system.program().layout();
    if from.map(Checkpoint::start) != config.config().start {
        return Err(RunError::WrongStart);
    }
    let state = match from {
        Some(checkpoint) => checkpoint.state(layout)?,
        None => State::initial(system, config.config().seed),
    };
    checkpoint::save(&folder.checkpoint(), layout, &state, config)?;
    LogWriter::create(&folder.log())?;
    let io = |source| RunError::Io { path: folder.path().to_owned(), source };
    write_atomically(&folder.panels(), panels::to_csv(&Vec::new()).as_bytes()).map_err(io)?;
    write_atomically(&folder.config(), format!("{}\n", config.json()).as_bytes()).map_err(io)
}

/// A run being trained.
struct ActiveRun<'a> {
    trainer: Trainer<'a, f32>,
    config: &'a ValidRun,
    folder: &'a Folder,
    options: &'a RunOptions,
    log: LogWriter,
    panels: Panels,
    clipped: u64,
    began: u64,
    saved: u64,
}

impl<'a> ActiveRun<'a> {
    fn open(
        executor: &'a dyn Executor<f32>,
        system: &'a dyn System<f32>,
        config: &'a ValidRun,
        folder: &'a Folder,
        options: &'a RunOptions,
    ) -> Result<Self, RunError> {
        let checkpoint = Checkpoint::load(&folder.checkpoint())?;
        let state = checkpoint.state(system.program().layout())?;
        if checkpoint.header().config_hash != config.hash() {
            let (path, what) = (folder.checkpoint(), "it belongs to another run".to_owned());
            return Err(CheckpointError::Damaged { path, what }.into());
        }
        let (update, start) = (state.update, config.config().start.as_ref());
        let start = start.map_or(0, |s| s.update);
        let (log, records) = LogWriter::resume(&folder.log(), start, update, state.hash())?;
        let read = panels::read(&folder.panels());
        let mut panels = read.map_err(|source| RunError::Io { path: folder.panels(), source })?;
        panels.retain(|(at, _)| *at <= update);
        let clipped = records.iter().filter(|r| r.update.is_clipped()).count() as u64;
        let trainer = Trainer::resume(executor, system, config.arm(), state)?;
        let (began, saved) = (update, update);
        Ok(Self { trainer, config, folder, options, log, panels, clipped, began, saved })
    }

    fn train(
        mut self,
        progress: &mut dyn FnMut(&Progress) -> Control,
    ) -> Result<Summary, RunError> {
        let updates = self.config.config().updates;
        let mut control = Control::Continue;
        while self.trainer.update() < updates && control != Control::Stop {
            let log = match self.trainer.step() {
                Ok(log) => log,
                Err(error) => {
                    self.log.sync()?; // the norms that led here are worth reading
                    return Err(error.into());
                }
            };
            let evaluation = self.evaluate()?;
            self.log.append(Record { update: log, evaluation: evaluation.map(|p| p.mean) })?;
            self.clipped += u64::from(log.is_clipped());
            let evaluation = self.panels.last().filter(|(at, _)| *at == log.update).map(|(_, p)| p);
            control = progress(&Progress { update: &log, evaluation, clipped: self.clipped });
            self.keep()?;
            let due = self.trainer.update() - self.saved >= self.options.save_every.max(1);
            if due || control != Control::Continue || self.trainer.update() == updates {
                self.save()?;
            }
        }
        let update = self.trainer.update();
        let Self { clipped, panels, began, .. } = self;
        Ok(Summary { update, is_finished: update >= updates, began, clipped, panels })
    }

    fn evaluate(&mut self) -> Result<Option<Panel>, RunError> {
        let update = self.trainer.update();
        if self.config.config().evaluations.binary_search(&update).is_err() {
            return Ok(None);
        }
        let panel = self.trainer.evaluate()?;
        self.panels.push((update, panel.clone()));
        let path = self.folder.panels();
        write_atomically(&path, panels::to_csv(&self.panels).as_bytes())
            .map_err(|source| RunError::Io { path, source })?;
        Ok(Some(panel))
    }

    fn keep(&self) -> Result<(), RunError> {
        let update = self.trainer.update();
        if self.options.keep.contains(&update) {
            self.write(&self.folder.kept(update))?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), RunError> {
        self.log.sync()?;
        self.write(&self.folder.checkpoint())?;
        self.saved = self.trainer.update();
        Ok(())
    }

    fn write(&self, path: &Path) -> Result<(), RunError> {
        let layout = self.trainer.model().program().layout();
        Ok(checkpoint::save(path, layout, &self.trainer.state(), self.config)?)
    }
}
