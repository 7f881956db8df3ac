//! Properties of the crate as a whole, in one binary.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod cleaning_counts_everything;
mod common;
mod fleets_are_reproducible;
mod hostile_files_are_refused;
mod real_tracks;
mod reserved_vessels_are_out_of_reach;
mod splits_share_no_moment;
mod stores_read_back;
mod vessel_begins_at_constant_velocity;
mod vessel_config_is_checked;
mod vessel_goes_on;
mod vessel_gradients_match_the_oracle;
mod vessel_is_held_off_the_poles;
mod vessel_positions_hold_to_a_metre;
mod vessel_prefix_passes_no_credit;
mod windows_of_a_vessel;
mod windows_step_to_themselves;

use std::path::{Path, PathBuf};

use backcut_vessel::read::Limits;
use backcut_vessel::store::Manifest;
use backcut_vessel::{AisError, Import, Rules};

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
