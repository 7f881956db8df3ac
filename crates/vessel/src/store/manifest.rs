//! What `store.json` says.

use backcut_files::Hash;
use serde::{Deserialize, Serialize};

use crate::clean::{Counts, Rules};
use crate::source::{BadRows, Source};

/// What became of everything on the way from files to windows.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Funnel {
    /// Rows of all files.
    pub rows: u64,
    /// Rows that do not read.
    pub bad: BadRows,
    /// What each rule took.
    pub counts: Counts,
    /// Vessels with at least one good position.
    pub vessels: u64,
    /// Vessels with a segment.
    pub vessels_stored: u64,
    /// Separate windows of the default shape (16 + 288 steps) in stored segments.
    pub windows: u64,
    /// Separate windows in which the vessel moves, wherever they begin.
    pub windows_moving: u64,
}

/// What a store says of itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// The hash of everything, which names the data in the identity of a result.
    pub hash: Hash,
    /// The hash of the open part.
    pub open_hash: Hash,
    /// The hash of the reserved part.
    pub reserved_hash: Hash,
    /// The hashes of the two files as they lie on disk, the open one first: damage is found before
    /// anybody takes a file apart.
    pub files: [Hash; 2],
    /// Seconds from place to place.
    pub step_seconds: u32,
    /// The reserved vessels.
    pub reserved: Vec<String>,
    /// How it was cleaned.
    pub rules: Rules,
    /// What became of what was read.
    pub funnel: Funnel,
    /// The files.
    pub sources: Vec<Source>,
}
