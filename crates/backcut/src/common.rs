//! What several commands share: parsing cuts and streams, reading checkpoints, default runs.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use backcut_engine::Cut;
use backcut_kernels::NUMERICS_VERSION;
use backcut_lab::training::{Checkpoint, Folder, Precision, RunConfig, config};
use backcut_study::EVALUATE_EVERY;
use backcut_systems::{Built, Stream};
use backcut_text::{counted, escape};
use serde::Serialize;

use crate::exit::{Told as _, Verdict, user};
use crate::look::Tones;
use crate::say;

/// Parses a cut as the user typed it.
pub fn parse_cut(text: &str) -> Result<Cut> {
    text.parse::<Cut>().told()
}

/// Parses a stream.
pub fn parse_stream(text: &str) -> Result<Stream> {
    match text {
        "a" => Ok(Stream::A),
        "b" => Ok(Stream::B),
        other => Err(user(format!("--stream {other}: no such stream"), "streams are a and b")),
    }
}

/// The most units or runs at a time: each is a thread, and no machine has more cores.
const MAX_JOBS: usize = 4096;

/// How many units are computed at a time: as asked for, or one per core.
pub fn jobs(asked: Option<NonZeroUsize>) -> Result<NonZeroUsize> {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    match asked {
        Some(jobs) if jobs.get() > MAX_JOBS => {
            let what = format!("--jobs {jobs}: at most {MAX_JOBS} units are computed at a time");
            Err(user(what, format_args!("this machine has {}", counted(cores.get(), "core"))))
        }
        asked => Ok(asked.unwrap_or(cores)),
    }
}

/// Reads a checkpoint; a folder stands for its run's latest.
pub fn load(path: &Path) -> Result<Checkpoint> {
    Checkpoint::load(&latest(path)).told()
}

/// The checkpoint that a path stands for: of a run's folder its latest.
pub fn latest(path: &Path) -> PathBuf {
    if path.is_dir() { Folder::new(path).checkpoint() } else { path.to_owned() }
}

/// Prints what a command found, for people.
pub fn print(text: impl AsRef<str>) -> Result<Verdict> {
    print_judged(text, &[])
}

/// The same with words that decide something.
pub fn print_judged(text: impl AsRef<str>, tones: Tones) -> Result<Verdict> {
    say::toned(format_args!("{}", text.as_ref()), "", tones)?;
    Ok(Verdict::Fine)
}

/// Prints a document (Markdown, LaTeX, HTML, a graph) line by line as it would stand in a file.
pub fn print_document(text: impl AsRef<str>) -> Result<Verdict> {
    say::raw(escape::lines(text.as_ref()))?;
    Ok(Verdict::Fine)
}

/// Prints JSON, one key per line.
pub fn print_json(value: &impl Serialize) -> Result<Verdict> {
    say::json(serde_json::to_string_pretty(value).context("failed to write JSON")?)?;
    Ok(Verdict::Fine)
}

/// Writes a file that an option names.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    backcut_study::replace(path, |mut file| file.write_all(bytes.as_ref()).map(|()| file))
        .map_err(|error| cannot_write(path, &error))
}

/// Why a file was not written.
pub fn cannot_write(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let what = format!("failed to write {}: {error}", path.display());
    user(what, "name a regular file in a folder that exists, can be written and has space")
}

/// A run of a system with every default.
pub fn default_run(built: &Built) -> RunConfig {
    RunConfig {
        system: built.choice.clone(),
        cut: Cut::FF,
        seed: 1,
        stream: Stream::A,
        start: None,
        updates: built.updates,
        evaluations: config::evaluation_points(0, built.updates, EVALUATE_EVERY),
        optimizer: built.optimizer.clone(),
        precision: Precision::F32,
        numerics: NUMERICS_VERSION,
    }
}

/// A name for a results file or a message: the system and what distinguishes it.
pub fn described(built: &Built) -> String {
    format!("{}, {}", built.choice.name, built.words)
}
