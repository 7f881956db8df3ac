//! What is run, what identifies it, and where.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use backcut_files::Hash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::StudyError;

/// Version of the files that are exchanged with a program.
pub const PROTOCOL: u32 = 1;

/// How a program's result may be expected to come out again.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Replay {
    /// The same bits.
    #[default]
    Bitwise,
    /// Every value within `tolerance * max(1, |a|, |b|)`.
    Tolerance(f64),
    /// Not at all.
    Impossible,
}

/// A program as a study file names it, with the hashes of its files.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The command and its words.
    pub command: Vec<String>,
    /// SHA-256 of the files that it declares, by path relative to its folder.
    pub files: BTreeMap<String, String>,
    /// How it may be replayed.
    pub replay: Replay,
    /// Where it runs and how long; not known where only the canonical form is.
    #[serde(skip)]
    pub surroundings: Option<Surroundings>,
}

/// Where a program runs, and for how long at most: no part of any unit's name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surroundings {
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// Seconds after which it is ended.
    pub timeout: Option<f64>,
}

/// What defines a unit that a program computes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commanded {
    /// Version of the files that are exchanged.
    pub version: u32,
    /// The arm's name.
    pub arm: String,
    /// The condition's label.
    pub condition: String,
    /// The command and its words.
    pub command: Vec<String>,
    /// SHA-256 of the declared files.
    pub files: BTreeMap<String, String>,
    /// Settings of system, condition and arm together.
    pub settings: Map<String, Value>,
    /// The source.
    pub seed: u64,
    /// Updates at its end.
    pub updates: u64,
    /// Updates at which a value is asked for.
    pub evaluations: Vec<u64>,
    /// How it may be replayed.
    pub replay: Replay,
}

/// How a program ran: kept in the record, no part of the result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    /// Where, and under which limit.
    pub surroundings: Surroundings,
    /// What it reported of itself.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub provenance: Map<String, Value>,
    /// It was ended by its limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

impl Commanded {
    /// The command as one line for people. Words that a shell would take apart are quoted.
    pub fn words(&self) -> String {
        words(&self.command)
    }

    /// Checks that the declared files are still those that the unit is named by.
    pub(crate) fn check_files(&self, folder: &Path) -> Result<(), StudyError> {
        for (name, hash) in &self.files {
            if hash_file(folder, name)? != *hash {
                let what = format!("{}: it has changed", folder.join(name).display());
                let hint = "a unit is named by the bytes of its files: put them back, or load the \
                            study again";
                return Err(StudyError::invalid(what, hint));
            }
        }
        Ok(())
    }
}

impl Program {
    /// The command as one line for people.
    pub fn words(&self) -> String {
        words(&self.command)
    }
}

fn words(command: &[String]) -> String {
    let quoted: Vec<String> = command.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

/// A file whose last change is younger is read again.
const SETTLED: Duration = Duration::from_secs(2);
/// A file up to this length is read again every time: its content alone says whether it has
/// changed.
const SHORT: u64 = 1 << 20;

/// What a long file looked like when it was hashed last.
struct Hashed {
    looks: Looks,
    hash: String,
}

/// Which file it is, how long, and when its content and its entry last changed: whoever puts the
/// first time back changes the second.
#[derive(PartialEq)]
struct Looks([u64; 2], u64, SystemTime, [i64; 2]);

impl Looks {
    fn of(about: &Metadata, modified: SystemTime) -> Self {
        #[cfg(unix)]
        let (which, changed) = {
            use std::os::unix::fs::MetadataExt as _;
            ([about.dev(), about.ino()], [about.ctime(), about.ctime_nsec()])
        };
        #[cfg(not(unix))]
        let (which, changed) = ([0; 2], [0; 2]);
        Self(which, about.len(), modified, changed)
    }
}

static HASHED: Mutex<BTreeMap<PathBuf, Hashed>> = Mutex::new(BTreeMap::new());

/// The SHA-256 of a declared file. A long file that looks as it did when it was hashed is not read
/// again.
pub(crate) fn hash_file(folder: &Path, name: &str) -> Result<String, StudyError> {
    let path = folder.join(name);
    let wrong = |source: std::io::Error| {
        let what = format!("{}: {source}", path.display());
        let hint = "list files that exist, relative to the study file";
        StudyError::invalid(what, hint)
    };
    let file = backcut_files::open(&path).map_err(wrong)?;
    let about = file.metadata().map_err(wrong)?;
    let modified = about.modified().map_err(wrong)?;
    let looks = Looks::of(&about, modified);
    if about.len() <= SHORT {
        return Ok(Hash::of_reader(file).map_err(wrong)?.to_string());
    }
    let mut known = HASHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(hashed) = known.get(&path).filter(|hashed| hashed.looks == looks) {
        return Ok(hashed.hash.clone());
    }
    let hash = Hash::of_reader(file).map_err(wrong)?.to_string();
    // A file that was written a moment ago may be written again within one tick of its clock.
    if modified.elapsed().is_ok_and(|age| age > SETTLED) {
        known.insert(path, Hashed { looks, hash: hash.clone() });
    }
    Ok(hash)
}

/// A word that a POSIX shell reads back as `text`, whatever it holds.
pub(crate) fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=+:@,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
