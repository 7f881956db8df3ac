//! A unit that a program computes: handed over, run, answered, recorded.

use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use backcut_lab::training::sha256;
use serde_json::{Map, Value};

use super::answer::{self, NoAnswer};
use super::handover::Exchange;
use super::output::Output;
use super::process::{End, Process, end_orphan};
use crate::claim::Owner;
use crate::context::{Context, Ended};
use crate::error::StudyError;
use crate::program::{Commanded, Ran};
use crate::record::{KeptFile, Outcome, Record};
use crate::store::{jot, publish};
use crate::unit::{Definition, UnitId};

/// What a program printed, beside the record.
const OUTPUT: &str = "output.txt";
/// How often the file of progress is read.
const PROGRESS: Duration = Duration::from_millis(500);

/// Computes a unit by its program.
pub(crate) fn execute(
    context: &Context,
    what: &Commanded,
    progress: &dyn Fn(u64),
) -> Result<Ended, StudyError> {
    let Some(surroundings) = &context.surroundings else {
        let words = format!("`{}` cannot be run: its folder is not known", what.words());
        return Err(StudyError::invalid(words, "run it from its study file"));
    };
    let definition = Definition::Command(what.clone());
    let id = definition.id();
    let exchange = Exchange::new(context.store, &id)?;
    if let Some(owner) = read_owner(&exchange.process) {
        end_orphan(&owner);
    }
    what.check_files(&surroundings.folder)?;
    let (head, before) = begin(&exchange, context, &id, what)?;
    let began = Instant::now();
    let seconds = || before + began.elapsed().as_secs_f64();
    let mut process = Process::start(&what.command, surroundings, &exchange.unit)?;
    let owner = serde_json::to_vec(&process.owner()).map_err(StudyError::bug)?;
    jot(&exchange.process, &owner)?;
    let heard = std::cell::Cell::new(began);
    let look = || {
        if heard.get().elapsed() >= PROGRESS {
            heard.set(Instant::now());
            let text = backcut_files::read_text(&exchange.progress).unwrap_or_default();
            if let Ok(update) = text.trim().parse::<u64>() {
                progress(update.min(what.updates));
            }
        }
    };
    let limit = surroundings.timeout.map(Duration::from_secs_f64);
    let end = process.wait(limit, context.stop, &look)?;
    let output = process.output();
    if matches!(end, End::Stopped) {
        publish(&exchange.about, format!("{head} {}\n", seconds()).as_bytes())?;
        return Ok(Ended::Stopped);
    }
    what.check_files(&surroundings.folder)?;
    let limit = surroundings.timeout;
    let (outcome, provenance) = outcome(&end, &output, limit, &exchange.result, what);
    let mut record = Record::new(definition, outcome, head);
    let timed_out = matches!(end, End::TimedOut);
    record.ran = Some(Ran { surroundings: surroundings.clone(), provenance, timed_out });
    record.seconds = seconds();
    record.files = keep_output(context, &id, &output)?;
    Ok(Ended::Recorded(Box::new(record)))
}

/// The head under which a unit first began, and the seconds that it has had.
fn begin(
    exchange: &Exchange,
    context: &Context,
    id: &UnitId,
    what: &Commanded,
) -> Result<(String, f64), StudyError> {
    let about = backcut_files::read_text(&exchange.about).unwrap_or_default();
    let told = about.trim_end().split_once(' ');
    let told = told.and_then(|(head, seconds)| Some((head.to_owned(), seconds.parse().ok()?)));
    exchange.hand_over(id, what)?;
    if let Some(told) = told {
        return Ok(told);
    }
    context.store.count_run(id)?;
    // Written before the program runs: what it saves is worth the head under which it was begun.
    let now = (context.head.clone(), 0.0);
    publish(&exchange.about, format!("{} {}\n", now.0, now.1).as_bytes())?;
    Ok(now)
}

/// What came of it, and what the program reported of itself.
fn outcome(
    end: &End,
    output: &Output,
    limit: Option<f64>,
    result: &Path,
    asked: &Commanded,
) -> (Outcome, Map<String, Value>) {
    let said = |what: String| match output.last_line() {
        line if line.is_empty() => what,
        line => format!("{what}; its last words: {line}"),
    };
    let failed = |what: String, hint: &str| Outcome::Failed { what, hint: hint.to_owned() };
    let answer = answer::read(result, asked);
    let provenance = match &answer {
        Ok(answer) => answer.provenance.clone(),
        Err(none) => none.provenance.clone(),
    };
    let outcome = match (end, answer) {
        (End::Exited(status), Ok(answer)) if status.success() => {
            Outcome::Ran { curve: answer.curve, findings: answer.findings }
        }
        (End::Exited(status), Err(NoAnswer { what, hint, .. })) if status.success() => {
            failed(said(what), &hint)
        }
        (End::Exited(_), Err(NoAnswer { what, hint, is_said: true, .. })) => failed(what, &hint),
        (End::Exited(status), _) => {
            failed(said(ended(*status)), "what it printed is kept beside the record")
        }
        (End::TimedOut | End::Stopped, _) => {
            let limit = limit.unwrap_or_default();
            let hint = "raise `timeout`; its checkpoint folder is kept for the next attempt";
            failed(said(format!("no result after {limit} s")), hint)
        }
    };
    (outcome, provenance)
}

fn ended(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = nix::sys::signal::Signal::try_from(signal).map_or("", |s| s.as_str());
        return format!("it was ended by signal {signal} {name}").trim_end().to_owned();
    }
    format!("it ended with exit code {}", status.code().unwrap_or_default())
}

/// Puts what was printed beside the record, if anything was.
fn keep_output(
    context: &Context,
    id: &UnitId,
    output: &Output,
) -> Result<Vec<KeptFile>, StudyError> {
    let path = context.store.beside(id).path().join(OUTPUT);
    let bytes = output.bytes();
    if bytes.is_empty() {
        return match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StudyError::io(&path)(error))
            }
            _ => Ok(Vec::new()), // not that of an earlier attempt either
        };
    }
    publish(&path, &bytes)?;
    Ok(vec![KeptFile { name: OUTPUT.to_owned(), sha256: sha256(&bytes) }])
}

fn read_owner(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&backcut_files::read(path).ok()?).ok()
}
