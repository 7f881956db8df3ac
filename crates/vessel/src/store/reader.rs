//! Opening a store. Whoever does not ask for reserved vessels does not open their file.

use std::fs;
use std::path::Path;

use backcut_files::Hash;

use super::columns::read;
use super::manifest::Manifest;
use super::{FORMAT, RESERVED, TRACKS};
use crate::error::{AisError, MANIFEST};
use crate::segment::Segment;
use crate::source::hash_file;
use crate::tracks::{Reserved, Tracks, hash_of, merged, whole_hash};

/// What a store says of itself.
pub fn read_manifest(folder: &Path) -> Result<Manifest, AisError> {
    let path = folder.join(MANIFEST);
    let text = fs::read(&path).map_err(AisError::io(&path))?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| AisError::store(&path, error))?;
    if manifest.format != FORMAT {
        let problem =
            format!("format {} is not {FORMAT}, which this program reads", manifest.format);
        return Err(AisError::store(&path, problem));
    }
    let whole = whole_hash(manifest.step_seconds, manifest.open_hash, manifest.reserved_hash);
    if manifest.step_seconds == 0 || whole != manifest.hash {
        return Err(AisError::store(&path, "its hashes contradict each other"));
    }
    Ok(manifest)
}

/// Reads a store into memory and checks it against its hashes.
pub fn open(folder: &Path, reserved: Reserved) -> Result<Tracks, AisError> {
    let manifest = read_manifest(folder)?;
    let [tracks_file, reserved_file] = manifest.files;
    let part = |name: &str, file: Hash, want: Hash, is_reserved: bool| {
        let path = folder.join(name);
        if hash_file(&path)?.0 != file {
            return Err(AisError::store(&path, "it is not the file that store.json names"));
        }
        let segments = read(&path, manifest.step_seconds)?;
        if hash_of(&segments) != want {
            return Err(AisError::store(&path, "its content is not what store.json says"));
        }
        // A store that was put together by hand could carry a reserved vessel in the open.
        let belongs =
            |segment: &Segment| manifest.reserved.contains(&segment.vessel) == is_reserved;
        if !segments.iter().all(belongs) {
            return Err(AisError::store(&path, "a vessel is in the wrong file"));
        }
        Ok(segments)
    };
    let mut segments = part(TRACKS, tracks_file, manifest.open_hash, false)?;
    if reserved == Reserved::Included {
        segments = merged(segments, part(RESERVED, reserved_file, manifest.reserved_hash, true)?);
    }
    Ok(Tracks::assembled(manifest.step_seconds, segments, manifest.hash, manifest.reserved))
}
