//! The folder of a run: which file is called what.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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

    /// The first entry that no run would have made.
    pub(crate) fn stranger(&self) -> io::Result<Option<String>> {
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let own = ["lock", "checkpoint.safetensors", "log.bin", "panels.csv"].contains(&&*name);
            let temporary = name.strip_prefix('.').and_then(|n| n.strip_suffix(".tmp")).is_some();
            if !(own || temporary) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}
