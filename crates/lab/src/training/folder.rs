//! The folder of a run: which file is called what, and how a saved run is read back.
//!
//! `backcut train` keeps a run in such a folder; a study keeps the saved state of an unfinished
//! unit in one, and what lies beside a finished unit's record in another.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use backcut_engine::Layout;
use backcut_text::Hinted;

use crate::training::checkpoint::{Checkpoint, CheckpointError};
use crate::training::config::ValidRun;
use crate::training::log::{self, LogError, Record};
use crate::training::panels::{self, Panels};
use crate::training::trainer::TrainError;
use crate::training::training_loop::Snapshot;

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

impl Hinted for RunError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Io { .. } => "check the path, its permissions and the free space",
            Self::Different { .. } | Self::Occupied { .. } => "choose another --out",
            Self::Finished { .. } => {
                "a finished run is never overwritten: choose another --out, or remove the folder"
            }
            Self::Unfinished { .. } => "add --resume to continue it, or choose another --out",
            Self::Locked { .. } => "wait for it, or choose another --out",
            Self::WrongStart => "pass the checkpoint that the configuration's `start` names",
            Self::Checkpoint(error) => return error.hint(),
            Self::Log(error) => return error.hint(),
            Self::Train(error) => return error.hint(),
        }
        .into()
    }

    fn is_bug(&self) -> bool {
        matches!(self, Self::Train(error) if error.is_bug())
    }
}

/// Names of the files of a run.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder of a run, existing or to come.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.json")
    }

    /// The latest state.
    pub fn checkpoint(&self) -> PathBuf {
        self.path.join("checkpoint.safetensors")
    }

    /// A kept state.
    pub fn kept(&self, update: u64) -> PathBuf {
        self.path.join(format!("checkpoint-{update:06}.safetensors"))
    }

    /// The update of a kept state, if a file has the name of one.
    pub fn kept_update(file: &Path) -> Option<u64> {
        let name = file.file_name()?.to_str()?;
        name.strip_prefix("checkpoint-")?.strip_suffix(".safetensors")?.parse().ok()
    }

    /// The log.
    pub fn log(&self) -> PathBuf {
        self.path.join("log.bin")
    }

    /// Errors per trajectory.
    pub fn panels(&self) -> PathBuf {
        self.path.join("panels.csv")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The saved run, if its files agree with one another and with the configuration.
    pub fn load(&self, run: &ValidRun, layout: &Layout) -> Result<Snapshot, RunError> {
        let checkpoint = Checkpoint::load(&self.checkpoint())?;
        let state = checkpoint.state(layout)?;
        let start = run.config().start.as_ref().map_or(0, |s| s.update);
        if checkpoint.header().config_hash != run.hash() || state.update < start {
            let (path, what) = (self.checkpoint(), "it belongs to another run".to_owned());
            return Err(CheckpointError::Damaged { path, what }.into());
        }
        let records: Vec<Record> = log::read(&self.log())?;
        let records = log::leading_to(&self.log(), records, start, state.update, state.hash())?;
        let read = panels::read(&self.panels());
        let mut panels: Panels =
            read.map_err(|source| RunError::Io { path: self.panels(), source })?;
        panels.retain(|(at, _)| *at <= state.update);
        let due = run.config().evaluations.iter().filter(|at| **at <= state.update);
        if !panels.iter().map(|(at, _)| at).eq(due) {
            let what = "its evaluations are not those of the run".to_owned();
            return Err(LogError::Broken { path: self.panels(), what }.into());
        }
        Ok(Snapshot { state, records, panels })
    }

    /// The first entry that no run would have made.
    pub(crate) fn stranger(&self) -> io::Result<Option<String>> {
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let own = ["lock", "checkpoint.safetensors", "log.bin", "panels.csv"].contains(&&*name);
            if !own && backcut_files::target_of(&name).is_none() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Removes what killed writers left half written. For whoever holds the folder's lock: nobody
    /// else writes here then.
    pub(crate) fn sweep(&self) {
        let own = ["config.json", "checkpoint", "log.bin", "panels.csv"];
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let target = backcut_files::target_of(&name);
            if target.is_some_and(|target| own.iter().any(|own| target.starts_with(own))) {
                let _ = fs::remove_file(entry.path()); // a leftover that stays does no harm
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_killed_writer_left_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        let left = [".log.bin.tmp", ".checkpoint-000008.safetensors.Ab3dEf6hIj9l.tmp"];
        let others = [".mine.tmp", "log.bin", "checkpoint.safetensors"];
        for name in left.iter().chain(&others) {
            fs::write(root.path().join(name), "x").unwrap();
        }
        assert_eq!(folder.stranger().unwrap(), None);
        folder.sweep();
        let is_there = |name: &&str| root.path().join(name).exists();
        assert!(!left.iter().any(is_there) && others.iter().all(is_there));
    }
}
