//! Properties of the crate as a whole, in one binary.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod cleaning_counts_everything;
mod fleets_are_reproducible;
mod hostile_files_are_refused;
mod real_tracks;
mod reserved_vessels_are_out_of_reach;
mod splits_share_no_moment;
mod stores_read_back;
mod windows_step_to_themselves;

use std::path::{Path, PathBuf};

use backcut_ais::read::Limits;
use backcut_ais::store::Manifest;
use backcut_ais::{AisError, Import, Rules};

/// Rules for small tests: short segments, no stays.
pub fn short(steps: usize) -> Rules {
    Rules { shortest_steps: steps, stationary_hours: 0.0, ..Rules::default() }
}

/// Writes a file.
pub fn file(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Imports files into `store` of a folder.
pub fn import(folder: &Path, files: &[PathBuf], rules: Rules) -> Result<Manifest, AisError> {
    let out = folder.join("store");
    Import { files, out: &out, rules, limits: Limits::default(), reserve: 0 }.run(&mut |_| ())
}
