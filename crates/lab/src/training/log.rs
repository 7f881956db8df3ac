//! One fixed-size record per update, in a file that Python reads with one `numpy` call.
//!
//! | bytes | holds |
//! | --- | --- |
//! | 0 to 7 | magic, `BCUTLOG` and a zero byte |
//! | 8 to 11 | format version, u32 |
//! | 12 to 15 | record size in bytes, u32 |
//! | then, per record | update u64; loss, raw norm, clipped norm, clipping factor f64; parameter hash u64; mean panel error f64, NaN where the panel was not evaluated |
//!
//! All little endian. The file is only ever appended to. A kill can leave part of a record at its
//! end: readers ignore it, and a resumed run cuts the file back to the checkpoint it continues
//! from.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use backcut_text::Hinted;

use crate::training::trainer::UpdateLog;

/// The first eight bytes of a log.
pub const MAGIC: [u8; 8] = *b"BCUTLOG\0";
/// The format this build writes and reads.
pub const VERSION: u32 = 1;
/// Bytes before the first record.
pub const HEADER: usize = 16;
/// Bytes of a record.
pub const RECORD: usize = 56;

/// One update as logged.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The update.
    pub update: UpdateLog,
    /// Mean panel error after it, where the panel was evaluated.
    pub evaluation: Option<f64>,
}

impl Record {
    fn to_bytes(self) -> [u8; RECORD] {
        let UpdateLog { update, loss, raw_norm, clipped_norm, factor, hash } = self.update;
        let evaluation = self.evaluation.unwrap_or(f64::NAN);
        let words = [
            update,
            loss.to_bits(),
            raw_norm.to_bits(),
            clipped_norm.to_bits(),
            factor.to_bits(),
            hash,
            evaluation.to_bits(),
        ];
        let mut bytes = [0; RECORD];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; RECORD]) -> Self {
        let mut words = [0; RECORD / 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [update, loss, raw_norm, clipped_norm, factor, hash, evaluation] = words;
        let real = f64::from_bits;
        Self {
            update: UpdateLog {
                update,
                loss: real(loss),
                raw_norm: real(raw_norm),
                clipped_norm: real(clipped_norm),
                factor: real(factor),
                hash,
            },
            evaluation: Some(real(evaluation)).filter(|e| !e.is_nan()),
        }
    }
}

/// A log that cannot be read or continued.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Not a log, or one of a newer format.
    #[error("{}: {what}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The log does not lead to the checkpoint.
    #[error("{}: {what}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

impl Hinted for LogError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Io { .. } => "check the path, its permissions and the free space",
            Self::Format { .. } => "a log of this version starts with BCUTLOG and version 1",
            Self::Broken { .. } => "the folder was changed from outside: start the run in another",
        }
        .into()
    }
}

/// Every whole record of a log.
pub fn read(path: &Path) -> Result<Vec<Record>, LogError> {
    let bytes = backcut_files::read(path)
        .map_err(|source| LogError::Io { path: path.to_owned(), source })?;
    parse(&bytes).map_err(|what| LogError::Format { path: path.to_owned(), what })
}

/// The records that lead from update `start` to `update`, whose parameters hash to `hash`; what
/// reaches further is dropped. `path` is for messages.
pub fn leading_to(
    path: &Path,
    mut records: Vec<Record>,
    start: u64,
    update: u64,
    hash: u64,
) -> Result<Vec<Record>, LogError> {
    let broken = |what: String| LogError::Broken { path: path.to_owned(), what };
    let keep = (update - start) as usize;
    if records.len() < keep {
        let last = start + records.len() as u64;
        return Err(broken(format!("ends at update {last}, the checkpoint is at {update}")));
    }
    records.truncate(keep);
    let mut counted = records.iter().zip(start + 1..);
    if let Some((record, want)) = counted.find(|(r, want)| r.update.update != *want) {
        let found = record.update.update;
        return Err(broken(format!("update {found} stands where {want} belongs")));
    }
    if records.last().is_some_and(|last| last.update.hash != hash) {
        return Err(broken(format!("update {update} left other parameters than the checkpoint's")));
    }
    Ok(records)
}

/// The bytes of a whole log.
pub fn to_bytes(records: &[Record]) -> Vec<u8> {
    let mut bytes = header().to_vec();
    for record in records {
        bytes.extend(record.to_bytes());
    }
    bytes
}

fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..].copy_from_slice(&(RECORD as u32).to_le_bytes());
    header
}

fn parse(bytes: &[u8]) -> Result<Vec<Record>, String> {
    let header = bytes.get(..HEADER).filter(|h| h[..8] == MAGIC);
    let header = header.ok_or("not a training log of this project")?;
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| header[at + i]));
    if word(8) != VERSION {
        return Err(format!("log format {}; this build reads {VERSION}", word(8)));
    }
    if word(12) as usize != RECORD {
        return Err(format!("records of {} bytes instead of {RECORD}", word(12)));
    }
    Ok(bytes[HEADER..].as_chunks::<RECORD>().0.iter().map(Record::from_bytes).collect())
}

/// Appends records.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl LogWriter {
    /// Makes an empty log.
    pub fn create(path: &Path) -> Result<(), LogError> {
        backcut_files::replace(path, &header())
            .map_err(|source| LogError::Io { path: path.to_owned(), source })
    }

    /// Opens a log to go on after these records: later ones and a torn one are cut off.
    pub fn after(path: &Path, records: &[Record]) -> Result<Self, LogError> {
        let io = |source| LogError::Io { path: path.to_owned(), source };
        let file = OpenOptions::new().append(true).open(path).map_err(io)?;
        file.set_len((HEADER + records.len() * RECORD) as u64).map_err(io)?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Adds a record (buffered).
    pub fn append(&mut self, record: Record) -> Result<(), LogError> {
        let Self { path, file } = self;
        file.write_all(&record.to_bytes())
            .map_err(|source| LogError::Io { path: path.clone(), source })
    }

    /// Everything appended so far is on disk afterwards.
    pub fn sync(&mut self) -> Result<(), LogError> {
        let Self { path, file } = self;
        file.flush()
            .and_then(|()| file.get_ref().sync_data())
            .map_err(|source| LogError::Io { path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(update: u64) -> Record {
        let x = update as f64;
        let (raw_norm, clipped_norm, factor) = (2.0 * x, x, 0.5);
        let update =
            UpdateLog { update, loss: x, raw_norm, clipped_norm, factor, hash: update + 7 };
        Record { update, evaluation: update.update.is_multiple_of(2).then_some(x / 3.0) }
    }

    fn sample(n: u64) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.bin");
        LogWriter::create(&path).unwrap();
        let mut log = LogWriter::after(&path, &[]).unwrap();
        (1..=n).for_each(|u| log.append(record(u)).unwrap());
        log.sync().unwrap();
        (folder, path)
    }

    #[test]
    fn a_torn_record_is_ignored_and_cut_off_on_resume() {
        let (_folder, path) = sample(5);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let records = read(&path).unwrap();
        assert_eq!(records.len(), 4);
        assert_eq!(records[3].update, record(4).update);
        assert_eq!(records[3].evaluation, record(4).evaluation);
        let kept = leading_to(&path, records, 0, 3, 10).unwrap();
        assert_eq!(kept.len(), 3);
        let mut log = LogWriter::after(&path, &kept).unwrap();
        log.append(record(4)).unwrap();
        log.append(record(5)).unwrap();
        log.sync().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn a_log_that_does_not_lead_to_the_checkpoint_is_refused() {
        let (_folder, path) = sample(3);
        for (start, update, hash) in [(0, 4, 11), (0, 3, 11), (1, 3, 10)] {
            let records = read(&path).unwrap();
            let error = leading_to(&path, records, start, update, hash).unwrap_err();
            assert!(matches!(error, LogError::Broken { .. }), "{error}");
        }
    }

    #[test]
    fn other_files_are_no_logs() {
        let (_folder, path) = sample(1);
        let whole = std::fs::read(&path).unwrap();
        for (at, word) in [(0, "not a training log"), (8, "log format"), (12, "records of")] {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            assert!(parse(&bytes).unwrap_err().contains(word));
        }
        assert!(parse(&whole[..HEADER - 1]).is_err());
    }
}
