//! Claims: who computes a unit, so that several processes and hosts can share a folder.
//!
//! A claim is a file made by atomic creation; it holds its owner and a beat that the owner counts
//! up. A claim is stale when its owner is a process of this machine that has died, or when its beat
//! has not changed for a while **as seen by the one who looks**, by a monotonic clock. No wall
//! clock is compared, so hosts may disagree about the time and a clock may jump. Should two
//! processes compute a unit after all, both write the same bytes.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::StudyError;
use crate::unit::UnitId;

/// A process, as others can recognise it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The machine's name.
    pub host: String,
    /// This start of the machine and this space of process numbers.
    pub machine: String,
    /// The process.
    pub process: u32,
    /// When it began, in the machine's own ticks: process numbers come back.
    pub began: u64,
}

impl Owner {
    /// This process.
    pub fn this() -> Self {
        Self::of(std::process::id())
    }

    /// A process of this machine.
    pub(crate) fn of(process: u32) -> Self {
        let began = began(process).unwrap_or(0);
        Self { host: read_line("/proc/sys/kernel/hostname"), machine: machine(), process, began }
    }

    /// A short form for file names: machine, process and start, without dots.
    pub(crate) fn mark(&self) -> String {
        let machine = UnitId::of(self.machine.as_bytes()).short();
        format!("{machine}-{}-{}", self.process, self.began)
    }

    /// Whether a [`Self::mark`] is that of a process of this machine that has died.
    pub(crate) fn is_dead(mark: &str) -> bool {
        let mut parts = mark.split('-');
        let (Some(machine), Some(process), Some(began_at)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let (Ok(process), Ok(began_at)) = (process.parse(), began_at.parse::<u64>()) else {
            return false;
        };
        let here = self::machine();
        !here.is_empty()
            && machine == UnitId::of(here.as_bytes()).short()
            && began(process) != Some(began_at)
    }

    /// `Some(true)` if it lives, `Some(false)` if it has died, `None` if that can not be told from
    /// here.
    pub fn lives(&self) -> Option<bool> {
        let here = machine();
        (!here.is_empty() && self.machine == here).then(|| began(self.process) == Some(self.began))
    }
}

fn machine() -> String {
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let boot = read_line("/proc/sys/kernel/random/boot_id");
    if boot.is_empty() { boot } else { format!("{boot} {}", space.display()) }
}

fn read_line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The start time of a process that lives (a zombie does not).
fn began(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything; fields are counted after its end.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if *fields.first()? == "Z" || *fields.first()? == "X" {
        return None;
    }
    fields.get(19)?.parse().ok()
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    owner: Owner,
    beat: u64,
}

/// What came of an attempt to claim a unit.
#[derive(Debug)]
pub enum Attempt {
    /// It is ours now; `from` names an owner it was taken over from.
    Ours {
        /// Who had it before.
        from: Option<String>,
    },
    /// Somebody else's.
    Theirs,
}

/// What a look at a claim says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// No claim.
    Free,
    /// Its owner lives, or seems to.
    Held(String),
    /// Its owner has died, or has not been heard of.
    Stale(String),
}

/// The claims of one process on a folder.
#[derive(Debug)]
pub struct Claims {
    folder: PathBuf,
    owner: Owner,
    stale_after: Duration,
    held: Mutex<BTreeMap<UnitId, u64>>,
    /// What others' claims looked like, and since when.
    watched: Mutex<HashMap<UnitId, (Vec<u8>, Instant)>>,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

impl Claims {
    /// Claims in a folder, which is made if need be.
    pub fn open(folder: PathBuf, stale_after: Duration) -> Result<Self, StudyError> {
        fs::create_dir_all(&folder).map_err(StudyError::io(&folder))?;
        Ok(Self::look_at(folder, stale_after))
    }

    /// Claims to look at, not to make: the folder need not exist.
    pub fn look_at(folder: PathBuf, stale_after: Duration) -> Self {
        let (held, watched) = (Mutex::default(), Mutex::default());
        Self { folder, owner: Owner::this(), stale_after, held, watched }
    }

    fn path(&self, id: &UnitId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// Tries to claim a unit.
    pub fn attempt(&self, id: &UnitId) -> Result<Attempt, StudyError> {
        if self.create(id)? {
            return Ok(Attempt::Ours { from: None });
        }
        let path = self.path(id);
        let bytes = match backcut_files::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Attempt::Theirs),
            Err(error) => return Err(StudyError::io(&path)(error)),
        };
        let Some(who) = self.stale(id, &bytes) else { return Ok(Attempt::Theirs) };
        if !self.remove_if(&path, &bytes)? || !self.create(id)? {
            return Ok(Attempt::Theirs); // somebody else was quicker
        }
        lock(&self.watched).remove(id);
        Ok(Attempt::Ours { from: Some(who) })
    }

    /// The owner's name if the claim is stale.
    fn stale(&self, id: &UnitId, bytes: &[u8]) -> Option<String> {
        let content = serde_json::from_slice::<Content>(bytes).ok();
        let who = content.as_ref().map_or("an unreadable claim".to_owned(), |c| name(&c.owner));
        match content.and_then(|c| c.owner.lives()) {
            Some(true) => return None,
            Some(false) => return Some(who),
            None => {}
        }
        let mut watched = lock(&self.watched);
        let (seen, since) = watched.entry(*id).or_insert_with(|| (bytes.to_vec(), Instant::now()));
        if seen != bytes {
            (*seen, *since) = (bytes.to_vec(), Instant::now());
        }
        (since.elapsed() >= self.stale_after).then_some(who)
    }

    /// Removes a claim that still reads as it was judged. A rename decides between several that
    /// try.
    fn remove_if(&self, path: &Path, judged: &[u8]) -> Result<bool, StudyError> {
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let aside = path.with_extension(format!("stale-{}-{unique}", self.owner.process));
        match fs::rename(path, &aside) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(StudyError::io(path)(error)),
        }
        let is_judged = backcut_files::read(&aside).is_ok_and(|found| found == judged);
        if !is_judged {
            let _ = fs::hard_link(&aside, path); // a fresh claim: back to its place
        }
        fs::remove_file(&aside).map_err(StudyError::io(&aside))?;
        Ok(is_judged)
    }

    fn create(&self, id: &UnitId) -> Result<bool, StudyError> {
        let path = self.path(id);
        let file = fs::OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(StudyError::io(&path)(error)),
        };
        if let Err(error) = file.write_all(&self.content(0)) {
            let _ = fs::remove_file(&path); // the first error is the one to report
            return Err(StudyError::io(&path)(error));
        }
        lock(&self.held).insert(*id, 0);
        Ok(true)
    }

    fn content(&self, beat: u64) -> Vec<u8> {
        serde_json::to_vec(&Content { owner: self.owner.clone(), beat }).unwrap_or_default()
    }

    /// Whether a unit that was claimed here still is. Whoever slept through the patience of others
    /// finds that it is theirs.
    pub(crate) fn holds(&self, id: &UnitId) -> bool {
        let content = backcut_files::read(&self.path(id)).ok();
        let content = content.and_then(|bytes| serde_json::from_slice::<Content>(&bytes).ok());
        content.is_some_and(|content| content.owner == self.owner)
    }

    /// Counts up the beat of every claim held.
    pub fn beat(&self) {
        let mut held = lock(&self.held);
        for (id, beat) in held.iter_mut() {
            *beat += 1;
            let path = self.path(id);
            let ours = backcut_files::read(&path).is_ok_and(|b| b == self.content(*beat - 1));
            if ours {
                // A beat that can not be written is a beat missed: others may take over,
                // harmlessly.
                let _ = fs::write(&path, self.content(*beat));
            }
        }
    }

    /// Gives a unit back.
    pub fn release(&self, id: &UnitId) {
        let Some(beat) = lock(&self.held).remove(id) else { return };
        let path = self.path(id);
        if backcut_files::read(&path).is_ok_and(|b| b == self.content(beat)) {
            let _ = fs::remove_file(&path); // a claim that stays behind is stale when we are gone
        }
    }

    /// Removes a claim whose owner has died; says whether nobody holds the unit now.
    pub fn clear(&self, id: &UnitId) -> bool {
        match self.look(id) {
            Seen::Held(_) => false,
            Seen::Free => true,
            Seen::Stale(_) => {
                let path = self.path(id);
                let judged = backcut_files::read(&path).unwrap_or_default();
                self.remove_if(&path, &judged).unwrap_or(false)
            }
        }
    }

    /// What a claim says at one look: without watching, only a process of this machine is known
    /// dead; others are judged by the file's age.
    pub fn look(&self, id: &UnitId) -> Seen {
        let path = self.path(id);
        let Ok(bytes) = backcut_files::read(&path) else { return Seen::Free };
        let Ok(content) = serde_json::from_slice::<Content>(&bytes) else {
            return Seen::Stale("an unreadable claim".to_owned());
        };
        let who = name(&content.owner);
        match content.owner.lives() {
            Some(true) => Seen::Held(who),
            Some(false) => Seen::Stale(who),
            None => {
                let age = fs::metadata(&path).and_then(|m| m.modified()).ok();
                let age = age.and_then(|m| m.elapsed().ok()).unwrap_or_default();
                if age < self.stale_after { Seen::Held(who) } else { Seen::Stale(who) }
            }
        }
    }
}

fn name(owner: &Owner) -> String {
    format!("process {} on {}", owner.process, owner.host)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_was_taken_over_is_held_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let (claims, id) = (claims(folder.path(), Duration::from_mins(1)), UnitId::of(b"unit"));
        assert!(matches!(claims.attempt(&id).unwrap(), Attempt::Ours { .. }));
        claims.beat();
        assert!(claims.holds(&id));
        fs::write(folder.path().join(id.to_string()), foreign(3)).unwrap();
        assert!(!claims.holds(&id));
        fs::remove_file(folder.path().join(id.to_string())).unwrap();
        assert!(!claims.holds(&id));
    }

    fn claims(folder: &Path, stale_after: Duration) -> Claims {
        Claims::open(folder.to_owned(), stale_after).unwrap()
    }

    fn foreign(beat: u64) -> Vec<u8> {
        let owner =
            Owner { host: "elsewhere".into(), machine: "other".into(), process: 1, began: 1 };
        serde_json::to_vec(&Content { owner, beat }).unwrap()
    }

    #[test]
    fn a_live_owner_keeps_its_unit_and_a_dead_one_loses_it_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let id = UnitId::of(b"unit");
        let (a, b) = (claims(folder.path(), Duration::ZERO), claims(folder.path(), Duration::ZERO));
        assert!(matches!(a.attempt(&id).unwrap(), Attempt::Ours { from: None }));
        assert!(matches!(b.attempt(&id).unwrap(), Attempt::Theirs), "we live");
        a.release(&id);
        assert!(!folder.path().join(id.to_string()).exists());
        let dead = Owner { began: 1, ..Owner::this() };
        let bytes = serde_json::to_vec(&Content { owner: dead, beat: 3 }).unwrap();
        fs::write(folder.path().join(id.to_string()), bytes).unwrap();
        assert!(matches!(b.attempt(&id).unwrap(), Attempt::Ours { from: Some(_) }));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_hosts_claim_is_stale_only_when_its_beat_stands_still() {
        let folder = tempfile::tempdir().unwrap();
        let id = UnitId::of(b"unit");
        let path = folder.path().join(id.to_string());
        let ours = claims(folder.path(), Duration::from_millis(40));
        for beat in 0..4 {
            fs::write(&path, foreign(beat)).unwrap();
            assert!(matches!(ours.attempt(&id).unwrap(), Attempt::Theirs));
            std::thread::sleep(Duration::from_millis(25));
        }
        std::thread::sleep(Duration::from_millis(50));
        assert!(matches!(ours.attempt(&id).unwrap(), Attempt::Ours { from: Some(_) }));
    }

    #[test]
    fn a_half_written_claim_is_given_time_and_then_taken() {
        let folder = tempfile::tempdir().unwrap();
        let id = UnitId::of(b"unit");
        fs::write(folder.path().join(id.to_string()), b"{\"owner\":{\"ho").unwrap();
        let ours = claims(folder.path(), Duration::from_millis(30));
        assert!(matches!(ours.attempt(&id).unwrap(), Attempt::Theirs));
        std::thread::sleep(Duration::from_millis(40));
        assert!(matches!(ours.attempt(&id).unwrap(), Attempt::Ours { from: Some(_) }));
    }

    #[test]
    fn beats_change_the_file_and_release_spares_anothers_claim() {
        let folder = tempfile::tempdir().unwrap();
        let id = UnitId::of(b"unit");
        let path = folder.path().join(id.to_string());
        let ours = claims(folder.path(), Duration::ZERO);
        ours.attempt(&id).unwrap();
        let before = fs::read(&path).unwrap();
        ours.beat();
        assert_ne!(fs::read(&path).unwrap(), before);
        fs::write(&path, foreign(0)).unwrap();
        ours.beat();
        ours.release(&id);
        assert_eq!(fs::read(&path).unwrap(), foreign(0));
    }
}
