//! What a store remembers of the files it was made from; readers fill it in.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use backcut_files::Hash;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::AisError;

/// A file that was read, as a store remembers it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Source {
    /// Its name without folders.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The hash of its bytes as they lie on disk.
    pub sha256: Hash,
}

/// A row that does not read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BadRow {
    /// The file's name.
    pub file: String,
    /// Its line, the header's being 1.
    pub line: u64,
    /// What is wrong.
    pub problem: String,
}

/// Rows that do not read.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct BadRows {
    /// How many.
    pub count: u64,
    /// The first few of every file.
    pub examples: Vec<BadRow>,
}

/// The hash and size of a file, read once through.
pub fn hash_file(path: &Path) -> Result<(Hash, u64), AisError> {
    let io = AisError::io(path);
    let mut file = File::open(path).map_err(&io)?;
    let (mut hasher, mut total) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 17];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((Hash::from_bytes(hasher.finalize().into()), total)),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                total += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io(error)),
        }
    }
}
