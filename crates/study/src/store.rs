//! The results folder: which file is called what, and how files come to be.
//!
//! | path | holds |
//! | --- | --- |
//! | `ledger.jsonl` | what was frozen when ([`backcut_evidence::ledger`]) |
//! | `studies/NAME.json` | the canonical form of every study that ran here |
//! | `units/ab/ID.done.json` | the result of a unit; `ID.failed.json` if it failed |
//! | `units/ab/ID/` | beside it: its log, and checkpoints that are kept |
//! | `work/ID/` | the saved state of a unit that is running or was interrupted |
//! | `claims/ID` | who is computing it |
//! | `runs/ID` | how often a program was begun anew for it; no record's removal takes that back |
//! | `tables/NAME/` | what `collect` made |
//! | `slurm/` | what tasks said, if units were computed by Slurm ([`crate::slurm`]) |
//!
//! **The name says the state.** Whether a unit is done or failed can be told from a directory
//! listing, so looking at 100,000 units reads no file. Every file appears by a rename from a name
//! that only its writer knows: several processes and hosts may share the folder, and a kill leaves
//! no half file.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use backcut_evidence::ledger::Ledger;
use backcut_evidence::tables::{Row, from_csv};
use backcut_lab::training::Folder;

use crate::claim::Owner;
use crate::error::StudyError;
use crate::unit::UnitId;

/// What the listing says of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// It has a result.
    Done,
    /// It failed; that is its outcome.
    Failed,
}

/// A results folder.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// A results folder, existing or to come.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The ledger. That of a single study's tables lies beside their folder.
    pub fn ledger(&self) -> PathBuf {
        let own = self.root.join("ledger.jsonl");
        let is_elsewhere = !own.exists() && self.root.join("about.json").exists();
        match self.root.parent().filter(|_| is_elsewhere) {
            Some(above) if above.join("ledger.jsonl").exists() => above.join("ledger.jsonl"),
            _ => own,
        }
    }

    /// The canonical form of a study.
    pub fn study(&self, name: &str) -> PathBuf {
        self.root.join("studies").join(format!("{name}.json"))
    }

    /// The tables of a study.
    pub fn tables(&self, name: &str) -> PathBuf {
        self.root.join("tables").join(name)
    }

    /// The folder of claims.
    pub fn claims(&self) -> PathBuf {
        self.root.join("claims")
    }

    /// The saved state of an unfinished unit.
    pub fn work(&self, id: &UnitId) -> Folder {
        Folder::new(self.root.join("work").join(id.to_string()))
    }

    fn units(&self, id: &UnitId) -> PathBuf {
        self.root.join("units").join(format!("{:02x}", id.first()))
    }

    /// The record of a unit in a state.
    pub fn record(&self, id: &UnitId, recorded: Recorded) -> PathBuf {
        let state = match recorded {
            Recorded::Done => "done",
            Recorded::Failed => "failed",
        };
        self.units(id).join(format!("{id}.{state}.json"))
    }

    /// What lies beside a unit's record: its log and kept states.
    pub fn beside(&self, id: &UnitId) -> Folder {
        Folder::new(self.units(id).join(id.to_string()))
    }

    /// A kept checkpoint.
    pub fn checkpoint(&self, id: &UnitId, update: u64) -> PathBuf {
        self.beside(id).kept(update)
    }

    /// Whether a unit's state can be started from: it is there, and the log that says whose it is.
    pub(crate) fn has_state(&self, id: &UnitId, update: u64) -> bool {
        self.checkpoint(id, update).exists() && self.beside(id).log().exists()
    }

    /// What one unit's files say.
    pub fn recorded(&self, id: &UnitId) -> Option<Recorded> {
        [Recorded::Done, Recorded::Failed].into_iter().find(|r| self.record(id, *r).exists())
    }

    /// Every unit in the folder, from the listing alone.
    pub fn scan(&self) -> Result<HashMap<UnitId, Recorded>, StudyError> {
        let mut found = HashMap::new();
        let units = self.root.join("units");
        for folder in list(&units)? {
            for name in list(&units.join(&folder))? {
                let Some((id, state)) = name.split_once('.') else { continue };
                let recorded = match state {
                    "done.json" => Recorded::Done,
                    "failed.json" => Recorded::Failed,
                    _ => continue,
                };
                let Ok(id) = id.parse() else { continue };
                let place = found.entry(id).or_insert(recorded);
                if recorded == Recorded::Done {
                    *place = Recorded::Done;
                }
            }
        }
        Ok(found)
    }

    /// Removes what killed processes of this machine left half written for a unit.
    pub(crate) fn sweep(&self, id: &UnitId) {
        let name = id.to_string();
        sweep(self.beside(id).path(), "");
        sweep(self.work(id).path(), "");
        sweep(&self.units(id), &name);
    }

    /// Every state that units have kept: unit, update and file, in the order of the files' names.
    pub fn kept(&self) -> Result<Vec<(UnitId, u64, PathBuf)>, StudyError> {
        let mut kept = Vec::new();
        let units = self.root.join("units");
        for shelf in list(&units)? {
            let shelf = units.join(shelf);
            for name in list(&shelf)? {
                let Ok(id) = name.parse::<UnitId>() else { continue };
                let folder = shelf.join(name);
                for file in list(&folder)?.into_iter().map(|file| folder.join(file)) {
                    kept.extend(Folder::kept_update(&file).map(|update| (id, update, file)));
                }
            }
        }
        kept.sort();
        Ok(kept)
    }

    /// How often a program was begun for a unit, other than to go on; 0 where nothing tells.
    pub fn runs(&self, id: &UnitId) -> u64 {
        let text = backcut_files::read_text(&self.root.join("runs").join(id.to_string()));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// Counts one more. Whoever holds the unit's claim counts alone.
    pub(crate) fn count_run(&self, id: &UnitId) -> Result<(), StudyError> {
        let runs = self.runs(id) + 1;
        publish(&self.root.join("runs").join(id.to_string()), format!("{runs}\n").as_bytes())
    }

    /// Units with a saved state or a claim.
    pub fn begun(&self) -> Result<Vec<UnitId>, StudyError> {
        let mut ids = Vec::new();
        for folder in ["work", "claims"] {
            let names = list(&self.root.join(folder))?;
            ids.extend(names.iter().filter_map(|name| name.parse::<UnitId>().ok()));
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

/// Opens the ledger of a results folder.
pub fn ledger(store: &Store) -> Result<Ledger, StudyError> {
    Ok(Ledger::open(store.ledger())?)
}

/// The names in a folder; none if it is not there.
pub(crate) fn list(folder: &Path) -> Result<Vec<String>, StudyError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // What is no folder lists nothing; `verify` says that it does not belong there.
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(StudyError::io(folder)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(StudyError::io(folder))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// A collected table of a folder.
pub(crate) fn read_table<R: Row>(folder: &Path, name: &str) -> Result<Vec<R>, StudyError> {
    let path = folder.join(format!("{name}.csv"));
    let bytes = backcut_files::read(&path).map_err(StudyError::io(&path))?;
    from_csv(&bytes).map_err(|error| StudyError::damaged(&path, error))
}

/// How temporary files of this process are marked, so that others can tell whether their writer
/// lives.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| Owner::this().mark())
}

/// Removes temporary files of dead processes of this machine whose target's name starts so. Those
/// of the living and of other machines are not touched.
pub(crate) fn sweep(folder: &Path, start: &str) {
    for file in list(folder).unwrap_or_default() {
        let parts = backcut_files::target_of(&file);
        let Some((rest, _unique)) = parts.and_then(|f| f.rsplit_once('.')) else { continue };
        let Some((target, mark)) = rest.rsplit_once('.') else { continue };
        if target.starts_with(start) && Owner::is_dead(mark) {
            let path = folder.join(&file);
            // A leftover that stays does no harm.
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

/// Puts `bytes` at `path`, whole or not at all, whoever else writes there.
///
/// The bytes are on the disk before the name is. The name itself is not waited for: a power failure
/// may forget that a file appeared, which costs the unit's time again and nothing else, and short
/// units would spend twice as long on syncing.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(StudyError::io(folder))?;
    backcut_files::place(path, mark(), bytes).map_err(StudyError::io(path))
}

/// Puts a file that somebody asked for by its path there, whole or not at all, and waits until it
/// is. What killed processes of this machine left of it goes.
pub fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(fs::File) -> Result<fs::File, E>,
) -> Result<(), E> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sweep(folder, &path.file_name().unwrap_or_default().to_string_lossy());
    backcut_files::place_with(path, mark(), write)?;
    Ok(backcut_files::sync_folder(path)?)
}

/// Makes a folder for what will stand at `path` once it is whole, under a name that only its maker
/// knows.
pub(crate) fn beginning(path: &Path) -> Result<PathBuf, StudyError> {
    let above = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(above).map_err(StudyError::io(above))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for unique in 0_u64.. {
        let folder = above.join(format!(".{name}.{}.{unique}.tmp", mark()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StudyError::io(&folder)(error)),
        }
    }
    Err(StudyError::bug("no name is left for a folder"))
}

/// The same for what is only of use while a unit runs: nobody waits for the disk. After a kill it
/// is there whole; after a power failure it is written again.
pub(crate) fn jot(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", mark()));
    let beside = PathBuf::from(beside);
    fs::write(&beside, bytes).map_err(StudyError::io(&beside))?;
    fs::rename(&beside, path).map_err(StudyError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_dead_processes_of_this_machine_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let dead = Owner { began: 1, ..Owner::this() }.mark();
        let foreign = Owner { machine: "other".into(), ..Owner::this() }.mark();
        let names = [
            format!(".log.bin.{dead}.3.tmp"),
            format!(".log.bin.{}.3.tmp", mark()),
            format!(".log.bin.{foreign}.3.tmp"),
            "log.bin".to_owned(),
            ".hidden.tmp".to_owned(),
        ];
        for name in &names {
            fs::write(path(name), "x").unwrap();
        }
        sweep(folder.path(), "other");
        assert!(path(&names[0]).exists(), "another target's");
        sweep(folder.path(), "log");
        assert!(!path(&names[0]).exists());
        assert!(names[1..].iter().all(|name| path(name).exists()));
    }

    #[test]
    fn what_a_killed_writer_left_of_a_file_goes_when_it_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cost.csv");
        let dead = Owner { began: 1, ..Owner::this() }.mark();
        let (left, living) =
            (format!(".cost.csv.{dead}.3.tmp"), format!(".cost.csv.{}.3.tmp", mark()));
        for name in [&left, &living] {
            fs::write(folder.path().join(name), "half").unwrap();
        }
        replace::<io::Error>(&path, |mut file| {
            io::Write::write_all(&mut file, b"x").map(|()| file)
        })
        .unwrap();
        let mut names = list(folder.path()).unwrap();
        names.sort();
        assert_eq!(names, [living, "cost.csv".to_owned()]);
        assert_eq!(fs::read(&path).unwrap(), b"x");
    }

    #[test]
    fn a_file_appears_whole_and_nothing_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/file");
        publish(&path, b"one").unwrap();
        publish(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(list(path.parent().unwrap()).unwrap(), ["file"]);
    }
}
