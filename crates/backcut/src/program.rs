//! Where the program lies that has these commands, for scripts that call it later.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// This process is another program, which calls the one at `path`: what it says first is kept.
pub fn is_at(path: PathBuf) {
    let _ = PROGRAM.set(path);
}

/// The program's path.
pub fn path() -> Result<PathBuf> {
    let known = PROGRAM.get().cloned().map(Ok);
    known.unwrap_or_else(std::env::current_exe).context("failed to find this program")
}
