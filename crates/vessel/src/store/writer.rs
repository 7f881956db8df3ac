//! Writing a store while segments come in any order.
//!
//! Which vessels are reserved is known at the end only, and rows are to be ordered by vessel. So
//! places go to a spill file as they come, an index of the segments stays in memory, and `finish`
//! goes through them in order.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use backcut_files::Hash;

use super::columns::TracksWriter;
use super::manifest::{Funnel, Manifest};
use super::{FORMAT, RESERVED, TRACKS};
use crate::clean::{Cleaner, Rules};
use crate::error::{AisError, MANIFEST};
use crate::model::{Shape, moving_starts, separate_windows};
use crate::segment::{GridPosition, Segment};
use crate::source::{Source, hash_file};
use crate::tracks::{ContentHash, choose_reserved, whole_hash};

/// A store in the making.
pub struct StoreWriter {
    folder: PathBuf,
    _made: Option<Made>,
    /// Held as long as it is written: two imports would mix their files.
    _lock: Option<File>,
    spill: BufWriter<File>,
    spilled: u64,
    index: Vec<Entry>,
    rules: Rules,
    windows: [u64; 2],
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    vessel: String,
    begin: i64,
    offset: u64,
    places: usize,
}

/// A folder that was made here, which goes again if nothing came into it.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0); // one with a store is not empty
    }
}

/// Holds a folder against other imports, where a system can lock folders.
fn lock(folder: &Path) -> Result<Option<File>, AisError> {
    if !cfg!(unix) {
        return Ok(None);
    }
    let file = File::open(folder).map_err(AisError::io(folder))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(AisError::Busy(folder.to_owned())),
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::Error(_)) => Ok(None), // some shared file systems know no locks
    }
}

impl StoreWriter {
    /// Makes the folder. One that holds a store is left alone.
    pub fn create(folder: &Path, rules: &Rules) -> Result<Self, AisError> {
        let made = match fs::create_dir(folder) {
            Ok(()) => Some(Made(folder.to_owned())),
            Err(_) if folder.is_dir() => None,
            Err(error) => return Err(AisError::io(folder)(error)),
        };
        let lock = lock(folder)?;
        if folder.join(MANIFEST).exists() {
            return Err(AisError::StoreExists(folder.to_owned()));
        }
        // An unnamed file is gone whatever happens to us.
        let spill = tempfile::tempfile_in(folder).map_err(AisError::io(folder))?;
        Ok(Self {
            folder: folder.to_owned(),
            _made: made,
            _lock: lock,
            spill: BufWriter::with_capacity(1 << 18, spill),
            spilled: 0,
            index: Vec::new(),
            rules: rules.clone(),
            windows: [0; 2],
        })
    }

    /// Takes a segment.
    pub fn add(&mut self, segment: Segment) -> Result<(), AisError> {
        let io = AisError::io(&self.folder);
        for place in &segment.places {
            self.spill.write_all(&place.lat_e7.to_le_bytes()).map_err(&io)?;
            self.spill.write_all(&place.lon_e7.to_le_bytes()).map_err(&io)?;
        }
        // Windows are counted here, where a segment is in memory.
        let shape = Shape::default();
        let moves = moving_starts(&segment, self.rules.step_seconds, &shape);
        self.windows[0] += (segment.steps() / shape.steps()) as u64;
        self.windows[1] += separate_windows(&moves, &shape) as u64;
        let places = segment.places.len();
        let (vessel, begin, offset) = (segment.vessel, segment.begin, self.spilled);
        self.index.push(Entry { vessel, begin, offset, places });
        self.spilled += 8 * places as u64;
        Ok(())
    }

    /// Takes what is still open in a cleaner, and finishes.
    pub(crate) fn complete(
        mut self,
        cleaner: Cleaner,
        reserve: usize,
        mut funnel: Funnel,
        sources: Vec<Source>,
    ) -> Result<Manifest, AisError> {
        funnel.vessels = cleaner.vessels() as u64;
        let (counts, rest) = cleaner.finish();
        rest.into_iter().try_for_each(|segment| self.add(segment))?;
        funnel.counts = counts;
        self.finish(reserve, funnel, sources)
    }

    /// Sets vessels apart, writes the files, and the manifest last.
    pub fn finish(
        mut self,
        reserve: usize,
        mut funnel: Funnel,
        sources: Vec<Source>,
    ) -> Result<Manifest, AisError> {
        if self.index.is_empty() {
            return Err(AisError::TooLittle("no segment is left after cleaning".into()));
        }
        self.index.sort_unstable();
        let names = choose_reserved(self.index.iter().map(|entry| entry.vessel.as_str()), reserve)?;
        let mut vessels: Vec<&str> = self.index.iter().map(|e| e.vessel.as_str()).collect();
        vessels.dedup();
        funnel.vessels_stored = vessels.len() as u64;
        [funnel.windows, funnel.windows_moving] = self.windows;
        let io = AisError::io(&self.folder);
        self.spill.flush().map_err(&io)?;
        let spill = self.spill.get_ref().try_clone().map_err(&io)?;
        let mut spill = BufReader::with_capacity(1 << 16, spill);
        let [tracks, apart] = [TRACKS, RESERVED].map(|name| self.folder.join(name));
        let open_hash = self.write_part(TRACKS, &mut spill, &names, false)?;
        let reserved_hash = self.write_part(RESERVED, &mut spill, &names, true)?;
        let step_seconds = self.rules.step_seconds;
        let manifest = Manifest {
            format: FORMAT,
            hash: whole_hash(step_seconds, open_hash, reserved_hash),
            open_hash,
            reserved_hash,
            files: [hash_file(&tracks)?.0, hash_file(&apart)?.0],
            step_seconds,
            reserved: names.into_iter().collect(),
            rules: self.rules.clone(),
            funnel,
            sources,
        };
        let path = self.folder.join(MANIFEST);
        let text = serde_json::to_vec_pretty(&manifest).map_err(|e| AisError::store(&path, e))?;
        publish(&path, |mut file| {
            file.write_all(&text).map(|()| file).map_err(AisError::io(&path))
        })?;
        Ok(manifest)
    }

    /// Writes the reserved vessels, or all others.
    fn write_part(
        &self,
        name: &str,
        spill: &mut BufReader<File>,
        reserved: &BTreeSet<String>,
        is_reserved: bool,
    ) -> Result<Hash, AisError> {
        let path = self.folder.join(name);
        let bad = |error: parquet::errors::ParquetError| AisError::store(&path, error);
        let mut hash = ContentHash::new();
        publish(&path, |file| {
            let mut writer = TracksWriter::new(file, self.rules.step_seconds).map_err(bad)?;
            let part = self.index.iter().filter(|e| reserved.contains(&e.vessel) == is_reserved);
            for entry in part {
                let places = places(spill, entry).map_err(AisError::io(&path))?;
                let (vessel, begin) = (entry.vessel.clone(), entry.begin);
                let segment = Segment { vessel, begin, places };
                hash.add(&segment);
                writer.add(&segment).map_err(bad)?;
            }
            writer.finish().map_err(bad)
        })?;
        Ok(hash.finish())
    }
}

fn places(spill: &mut BufReader<File>, entry: &Entry) -> std::io::Result<Vec<GridPosition>> {
    spill.seek(SeekFrom::Start(entry.offset))?;
    let mut bytes = vec![0; 8 * entry.places];
    spill.read_exact(&mut bytes)?;
    let int = |bytes: [u8; 4]| i32::from_le_bytes(bytes);
    let place = |&[a, b, c, d, e, f, g, h]: &[u8; 8]| GridPosition {
        lat_e7: int([a, b, c, d]),
        lon_e7: int([e, f, g, h]),
    };
    Ok(bytes.as_chunks::<8>().0.iter().map(place).collect())
}

/// A file appears whole or not at all.
fn publish(
    path: &Path,
    write: impl FnOnce(File) -> Result<File, AisError>,
) -> Result<(), AisError> {
    backcut_study::replace(path, write).map_err(|error| error.at(path))
}
