//! The file: opening it verifies all of it, appending extends it, nothing else is ever edited.
//!
//! A writer holds the file's lock, reads the file again and appends only if the head is the one
//! that it had opened: whoever decided on the strength of older entries decides again
//! ([`LedgerError::Moved`]). A line goes out in one write and is synced before its hash is
//! returned, so a hash that anyone holds is on the disk.
//!
//! What a chain cannot see: that its last lines were cut off as a whole. The results that carry the
//! lost heads can (see [`crate::ledger::status`]), and so can a head that was kept elsewhere.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::ledger::chain::{Chain, Fault, Torn};
use crate::ledger::draw::seeds;
use crate::ledger::entry::{Body, Entry, Frozen};
use crate::ledger::rules::{self, RuleError};
use backcut_files::Hash;
use backcut_files::Utc;
use backcut_files::canonical;

/// Why a ledger cannot be read or extended.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file system said no.
    #[error("{path}: {what}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system answered.
        error: io::Error,
    },
    /// A line is not what it was.
    #[error("{path}: line {line} is broken: {fault}", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The first bad line, counted from 1.
        line: usize,
        /// What is wrong with it.
        fault: Box<Fault>,
    },
    /// Somebody else appended first.
    #[error("{path}: the head is {found} by now and no longer {expected}: open it again",
            path = path.display())]
    Moved {
        /// The file.
        path: PathBuf,
        /// The head when the ledger was opened.
        expected: Hash,
        /// The head now.
        found: Hash,
    },
    /// What was to be appended may not stand there.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// What was to be appended is no JSON.
    #[error("the entry cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A verified ledger.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    chain: Chain,
    places: BTreeMap<Hash, usize>,
}

impl Ledger {
    /// Reads and verifies the whole file. A file that is not there is an empty ledger.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, LedgerError> {
        let path = path.into();
        let bytes = match backcut_files::open(&path) {
            Ok(file) => read_shared(file).map_err(failed(&path, "cannot be read"))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(&path, "cannot be opened")(error)),
        };
        let chain = read_chain(&path, &bytes)?;
        let places = chain.entries.iter().enumerate().map(|(i, entry)| (entry.hash, i)).collect();
        Ok(Self { path, chain, places })
    }

    /// Appends one entry and returns its hash, the new head. It is on the disk then.
    ///
    /// The lists of a study are sorted on the way in.
    pub fn append(&mut self, utc: Utc, body: Body) -> Result<Hash, LedgerError> {
        let mut body = body;
        match &mut body {
            Body::Freeze(frozen) => frozen.sort(),
            Body::Amend(amendment) => amendment.frozen.sort(),
        }
        let fail = |what| failed(&self.path, what);
        let mut options = OpenOptions::new();
        let mut file = (options.read(true).append(true).create(true).open(&self.path))
            .map_err(fail("cannot be opened for appending"))?;
        file.lock().map_err(fail("cannot be locked"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(fail("cannot be read"))?;
        let now = read_chain(&self.path, &bytes)?;
        if now.head() != self.head() {
            let (path, expected, found) = (self.path.clone(), self.head(), now.head());
            return Err(LedgerError::Moved { path, expected, found });
        }
        rules::check(&now.entries, &body)?;
        let entry = Entry::seal(now.entries.len() as u64, now.head(), utc, body)?;
        let line = canonical(&entry)? + "\n";
        extend(&mut file, bytes.len(), now.torn, &line).map_err(fail("cannot be written"))?;
        if now.entries.is_empty() {
            sync_folder(&self.path).map_err(fail("its folder cannot be synced"))?;
        }
        let hash = entry.hash;
        self.places.insert(hash, now.entries.len());
        self.chain = now;
        self.chain.entries.push(entry);
        self.chain.torn = None;
        Ok(hash)
    }

    /// The hash of the last entry; [`Hash::ZERO`] if there is none.
    pub fn head(&self) -> Hash {
        self.chain.head()
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.chain.entries
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a killed writer left at the end, if anything. The next append repairs it.
    pub fn torn(&self) -> Option<Torn> {
        self.chain.torn
    }

    /// The entry with that hash.
    pub fn entry(&self, hash: Hash) -> Option<&Entry> {
        self.places.get(&hash).map(|place| &self.chain.entries[*place])
    }

    /// Whether there is an entry with that hash.
    pub fn contains(&self, hash: Hash) -> bool {
        self.places.contains_key(&hash)
    }

    /// Whether `a` is `b` or stands before it. [`Hash::ZERO`] stands before every entry; a hash
    /// that is not in the ledger has no place and is nobody's ancestor or descendant.
    pub fn is_ancestor(&self, a: Hash, b: Hash) -> bool {
        let place = |hash| match hash {
            Hash::ZERO => Some(0),
            hash => self.places.get(&hash).map(|place| place + 1),
        };
        matches!((place(a), place(b)), (Some(a), Some(b)) if a <= b)
    }

    /// The entry that froze a study.
    pub fn freezing_entry(&self, study: &str) -> Option<&Entry> {
        self.entries_of(study).map(|(entry, _)| entry).next()
    }

    /// The latest entry of a study: what an amendment has to name.
    pub fn latest_entry(&self, study: &str) -> Option<&Entry> {
        self.entries_of(study).map(|(entry, _)| entry).last()
    }

    /// The freeze of a study and its amendments, oldest first.
    pub fn entries_of<'a>(&'a self, study: &str) -> impl Iterator<Item = (&'a Entry, &'a Frozen)> {
        let frozen = self.chain.entries.iter().filter_map(|e| e.frozen().map(|f| (e, f)));
        frozen.filter(move |(_, frozen)| frozen.study == study)
    }

    /// The seeds of a study's first `count` drawn sources; none if no entry of it draws any.
    ///
    /// The study's **first** entry that draws decides for all its amendments: who amends does not
    /// draw again.
    pub fn drawn(&self, study: &str, count: u64) -> Option<Vec<u64>> {
        let entry = self.entries_of(study).find_map(|(entry, f)| f.draw.map(|_| entry))?;
        Some(seeds(entry.hash, count))
    }
}

fn read_chain(path: &Path, bytes: &[u8]) -> Result<Chain, LedgerError> {
    let path = path.to_path_buf();
    Chain::read(bytes).map_err(|(line, fault)| LedgerError::Broken {
        path,
        line,
        fault: Box::new(fault),
    })
}

/// Under a shared lock, or a reader would take a line that is being written for a torn one. Where
/// locks do not exist reading goes on without; appending does not.
fn read_shared(mut file: File) -> io::Result<Vec<u8>> {
    if_supported(file.lock_shared())?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn if_supported(locked: io::Result<()>) -> io::Result<()> {
    match locked {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        locked => locked,
    }
}

/// Writes the line and repairs the end before it if it is torn. A write that fails half way is
/// taken back.
fn extend(file: &mut File, length: usize, torn: Option<Torn>, line: &str) -> io::Result<()> {
    let mut length = length as u64;
    let mut missing = "";
    match torn {
        Some(Torn { whole: true, .. }) => missing = "\n",
        Some(Torn { bytes, .. }) => {
            length -= bytes as u64;
            file.set_len(length)?;
        }
        None => {}
    }
    if let Err(error) = file.write_all(format!("{missing}{line}").as_bytes()) {
        // If this fails too, the fragment is what a kill would have left: the next append removes
        // it.
        let _ = file.set_len(length);
        return Err(error);
    }
    file.sync_all()
}

/// A new file's name must reach the disk too.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// What an error of the file system becomes.
fn failed(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> LedgerError + use<> {
    let path = path.to_path_buf();
    move |error| LedgerError::Io { path, what, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_system_without_locks_is_read_without_one() {
        assert!(if_supported(Ok(())).is_ok());
        assert!(if_supported(Err(ErrorKind::Unsupported.into())).is_ok());
        assert!(if_supported(Err(ErrorKind::PermissionDenied.into())).is_err());
    }

    #[test]
    fn the_folder_of_a_bare_name_is_the_current_one_and_a_missing_one_is_an_error() {
        sync_folder(Path::new("ledger.jsonl")).unwrap();
        assert!(sync_folder(Path::new("no/such/folder/ledger.jsonl")).is_err());
    }
}
