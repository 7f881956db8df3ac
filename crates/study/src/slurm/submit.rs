//! `OUT/slurm`: scripts, logs, the study's copies, and the list of jobs; and the calls of `sbatch`.
//!
//! | path | holds |
//! | --- | --- |
//! | `NAME-3.sbatch`, `NAME-3-collect.sbatch` | the third submission, as it was handed to `sbatch` |
//! | `NAME-3/` | the study file as it was then, with what it reuses |
//! | `NAME-3-12.log` | what task 12 of it said |
//! | `NAME.jobs` | one line of JSON per job, only ever appended to |

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use backcut_ledger::Utc;
use serde::{Deserialize, Serialize};

use crate::error::StudyError;
use crate::store::{Store, list, publish};

/// What a job is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Shards.
    Array,
    /// Tables.
    Collect,
}

/// A job that was submitted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submitted {
    /// Its number in Slurm.
    pub job: u64,
    /// What it is for.
    pub kind: Kind,
    /// Its script in `OUT/slurm`.
    pub script: String,
    /// The shards of an array, as `1-3,7 of 9`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<String>,
    /// When.
    pub utc: Utc,
}

/// The folder of one study's submissions.
#[derive(Clone, Debug)]
pub struct SubmissionFolder {
    folder: PathBuf,
    name: String,
}

impl SubmissionFolder {
    /// The submissions of a study to a results folder; nothing is made yet.
    pub fn new(store: &Store, study: &str) -> Self {
        Self { folder: store.root().join("slurm"), name: study.to_owned() }
    }

    /// The folder, which is every job's working folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn jobs_file(&self) -> PathBuf {
        self.folder.join(format!("{}.jobs", self.name))
    }

    /// The script of a submission.
    pub fn script(&self, number: u32, kind: Kind) -> PathBuf {
        let suffix = if kind == Kind::Collect { "-collect" } else { "" };
        self.folder.join(format!("{}-{number}{suffix}.sbatch", self.name))
    }

    /// Where a submission's copy of the study lies.
    pub fn copy(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{}-{number}", self.name))
    }

    /// The number that the next submission will have.
    pub fn next(&self) -> Result<u32, StudyError> {
        let names = list(&self.folder)?;
        let number = |file: &String| -> Option<u32> {
            let rest = file.strip_prefix(&self.name)?.strip_prefix('-')?;
            rest.strip_suffix(".sbatch")?.parse().ok()
        };
        Ok(names.iter().filter_map(number).max().unwrap_or(0).saturating_add(1))
    }

    /// Takes the next number; two that submit at once get different ones.
    pub fn reserve(&self) -> Result<u32, StudyError> {
        fs::create_dir_all(&self.folder).map_err(StudyError::io(&self.folder))?;
        loop {
            let number = self.next()?;
            let path = self.script(number, Kind::Array);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => return Ok(number),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StudyError::io(&path)(error)),
            }
        }
    }

    /// Writes a script; returns its path.
    pub fn write(&self, number: u32, kind: Kind, text: &str) -> Result<PathBuf, StudyError> {
        let path = self.script(number, kind);
        publish(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Takes a submission back that `sbatch` refused.
    pub fn withdraw(&self, number: u32) {
        // What can not be removed is in nobody's way: the next submission takes the next number.
        let _ = fs::remove_file(self.script(number, Kind::Array));
        let _ = fs::remove_dir_all(self.copy(number));
        let _ = fs::remove_dir(&self.folder); // only if it is empty
    }

    /// Every job that was submitted; `None` if none ever was.
    pub fn jobs(&self) -> Result<Option<Vec<Submitted>>, StudyError> {
        let path = self.jobs_file();
        let text = match backcut_files::read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StudyError::io(&path)(error)),
        };
        let mut jobs = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let damaged = |e| StudyError::damaged(&path, format!("line {}: {e}", number + 1));
            jobs.push(serde_json::from_str(line).map_err(damaged)?);
        }
        Ok(Some(jobs))
    }

    /// Notes a job, at once and durably: a job that nobody knows of is hard to cancel.
    pub fn note(&self, job: &Submitted) -> Result<(), StudyError> {
        let path = self.jobs_file();
        let mut line = serde_json::to_vec(job).unwrap_or_default();
        line.push(b'\n');
        let append = || {
            let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
            file.write_all(&line)?;
            file.sync_all()
        };
        append().map_err(StudyError::io(&path))
    }
}

/// Hands a script to `sbatch`, in its own folder; returns the job.
pub fn submit(script: &Path, after: Option<u64>) -> Result<u64, StudyError> {
    let folder = script.parent().unwrap_or(Path::new("."));
    let mut command = Command::new("sbatch");
    command.arg("--parsable").current_dir(folder);
    if let Some(job) = after {
        command.arg(format!("--dependency=afterany:{job}"));
    }
    let output = command.arg(script).output().map_err(|error| {
        let hint = "run this where sbatch is, or look at the script with --dry-run";
        StudyError::invalid(format!("sbatch: {error}"), hint)
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    // JOB, or JOB;CLUSTER
    let job = text.trim().lines().last().and_then(|line| line.split(';').next()?.parse().ok());
    match job {
        Some(job) if output.status.success() => Ok(job),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = reason(if said.trim().is_empty() { &text } else { &said });
            let hint = "correct the options; --dry-run shows the script, `sinfo` the partitions";
            Err(StudyError::invalid(format!("sbatch refused: {said}"), hint))
        }
    }
}

/// What `sbatch` said, in one line.
fn reason(said: &str) -> String {
    let lines = said.lines().map(|line| line.trim().trim_start_matches("sbatch: "));
    let lines = lines.map(|line| line.trim_start_matches("error: "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_up_and_jobs_are_appended() {
        let folder = tempfile::tempdir().unwrap();
        let submissions = SubmissionFolder::new(&Store::new(folder.path()), "tiny");
        assert_eq!((submissions.next().unwrap(), submissions.jobs().unwrap()), (1, None));
        assert_eq!((submissions.reserve().unwrap(), submissions.reserve().unwrap()), (1, 2));
        submissions.write(2, Kind::Array, "x").unwrap();
        submissions.write(2, Kind::Collect, "y").unwrap();
        assert_eq!(submissions.next().unwrap(), 3);
        // A study whose name goes on where this one's ends.
        assert_eq!(SubmissionFolder::new(&Store::new(folder.path()), "tin").next().unwrap(), 1);
        let utc = Utc::from_unix(1_700_000_000).unwrap();
        let job = |job, kind, shards| Submitted { job, kind, script: "s".into(), shards, utc };
        let both = [job(7, Kind::Array, Some("1-3 of 3".into())), job(8, Kind::Collect, None)];
        for job in &both {
            submissions.note(job).unwrap();
        }
        assert_eq!(submissions.jobs().unwrap().unwrap(), both);
        fs::write(submissions.jobs_file(), "{\"job\":1").unwrap();
        assert!(submissions.jobs().unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn what_sbatch_refused_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let submissions = SubmissionFolder::new(&Store::new(&out), "tiny");
        let number = submissions.reserve().unwrap();
        fs::create_dir_all(submissions.copy(number).join("below")).unwrap();
        fs::write(submissions.copy(number).join("below/tiny.toml"), "x").unwrap();
        submissions.withdraw(number);
        assert_eq!(list(&out).unwrap(), Vec::<String>::new());
        // An earlier submission stays.
        submissions.reserve().unwrap();
        submissions.withdraw(submissions.reserve().unwrap());
        assert_eq!(list(submissions.folder()).unwrap(), ["tiny-1.sbatch"]);
    }

    #[test]
    fn two_lines_of_sbatch_are_one_reason() {
        let said = "sbatch: error: invalid partition specified: nowhere\n\
            sbatch: error: Batch job submission failed: Invalid partition name specified\n";
        let one = "invalid partition specified: nowhere; \
            Batch job submission failed: Invalid partition name specified";
        assert_eq!(reason(said), one);
    }
}
