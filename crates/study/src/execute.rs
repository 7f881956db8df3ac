//! One unit, computed: train or measure, save now and then, leave a record.
//!
//! **Short units cost nothing extra.** A unit's saved state is written only after it has computed for a
//! while ([`Context::save_after`]); a two-second unit that is killed starts again. The order of a saved
//! state is log, panels, checkpoint, so whatever a kill leaves reaches at least as far as the checkpoint.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use backcut_engine::Executor;
use backcut_measure::{Subject, measure};
use backcut_systems::BatchKey;
use backcut_training::log::{self, Record as LogRecord};
use backcut_training::{
    Checkpoint, CheckpointError, Panel, RunConfig, State, Trainer, ValidRun, checkpoint, panels,
    sha256,
};
use serde_json::Value;

use crate::error::StudyError;
use crate::record::{Beside, Evaluation, Outcome, Record};
use crate::store::{Recorded, Store, publish};
use crate::systems::{Built, Catalogue};
use crate::unit::{Definition, StateOf, UnitId};

/// What computing a unit needs to know of its surroundings.
pub struct Context<'a> {
    /// The results folder.
    pub store: &'a Store,
    /// Systems by name.
    pub catalogue: &'a dyn Catalogue,
    /// What computes.
    pub executor: &'a dyn Executor<f32>,
    /// The ledger's head as the unit begins.
    pub head: String,
    /// Save the state of a long unit this often.
    pub save_after: Duration,
    /// Save and stop as soon as this is set.
    pub stop: &'a AtomicBool,
}

/// How computing a unit ended.
#[derive(Debug)]
pub enum Ended {
    /// With a record, for the caller to put into the store.
    Recorded(Box<Record>),
    /// It was stopped; its state is saved.
    Stopped,
}

/// Computes a unit. Its log and checkpoints are in the store when this returns; the record is not, nor
/// is the saved state removed: that is for [`conclude`]. `keep` lists updates whose checkpoint is kept; `progress` hears of
/// every update.
pub fn execute(
    context: &Context,
    definition: &Definition,
    keep: &[u64],
    progress: &dyn Fn(u64),
) -> Result<Ended, StudyError> {
    match definition {
        Definition::Train { .. } => Training::open(context, definition, keep)?.run(progress),
        Definition::Measure { measurement, of, reference, .. } => {
            let began = Instant::now();
            let subject = Restored::load(context, *of)?;
            let reference = match reference {
                Some(state) => Some(Restored::load(context, *state)?),
                None => None,
            };
            let reference = reference.as_ref().map(|r| r.subject(context.executor));
            let outcome = match measure(
                measurement,
                &subject.subject(context.executor),
                reference.as_ref(),
            ) {
                Ok(findings) => Outcome::Measured { findings },
                Err(error) => Outcome::Failed { what: error.to_string(), hint: String::new() },
            };
            let mut record = Record::new(definition.clone(), outcome, context.head.clone());
            record.seconds = began.elapsed().as_secs_f64();
            Ok(Ended::Recorded(Box::new(record)))
        }
    }
}

/// A kept state with its system.
pub struct Restored {
    built: Built,
    state: State<f32>,
    config: RunConfig,
}

impl Restored {
    /// From a unit's kept checkpoint.
    pub fn load(context: &Context, state: StateOf) -> Result<Self, StudyError> {
        let path = context.store.checkpoint(&state.unit, state.update);
        let checkpoint = Checkpoint::load(&path).map_err(|e| unusable(&e))?;
        Self::new(context.catalogue, &checkpoint)
    }

    /// From a checkpoint.
    pub fn new(catalogue: &dyn Catalogue, checkpoint: &Checkpoint) -> Result<Self, StudyError> {
        let config = checkpoint.header().config.clone();
        let built = build(catalogue, &config.system.name, &config.system.settings)?;
        let state = checkpoint.state(built.system.program().layout()).map_err(|e| unusable(&e))?;
        Ok(Self { built, state, config })
    }

    /// As measurements see it.
    pub fn subject<'a>(&'a self, executor: &'a dyn Executor<f32>) -> Subject<'a> {
        let RunConfig { seed, stream, optimizer, .. } = self.config;
        let key = BatchKey { seed, stream, update: self.state.update };
        Subject { executor, system: &*self.built.system, state: &self.state, optimizer, key }
    }
}

fn build(catalogue: &dyn Catalogue, name: &str, settings: &Value) -> Result<Built, StudyError> {
    let Value::Object(settings) = settings else {
        return Err(StudyError::invalid("settings that are no table", "use name = value"));
    };
    catalogue.build(name, settings)
}

fn unusable(error: &CheckpointError) -> StudyError {
    StudyError::invalid(error, error.hint())
}

/// A training unit in progress.
struct Training<'a> {
    context: &'a Context<'a>,
    definition: &'a Definition,
    id: UnitId,
    keep: &'a [u64],
    run: ValidRun,
    built: Built,
    state: State<f32>,
    records: Vec<LogRecord>,
    panels: panels::Panels,
    head: String,
    /// Seconds of earlier processes.
    before: f64,
}

impl<'a> Training<'a> {
    fn open(
        context: &'a Context<'a>,
        definition: &'a Definition,
        keep: &'a [u64],
    ) -> Result<Self, StudyError> {
        let Definition::Train {
            system,
            cut,
            seed,
            stream,
            from,
            updates,
            evaluations,
            optimizer,
            precision,
            numerics,
        } = definition
        else {
            return Err(StudyError::invalid("not a training unit", "this is a bug"));
        };
        let built = build(context.catalogue, &system.name, &system.settings)?;
        let layout = built.system.program().layout();
        let (start, state) = match from {
            None => (None, State::initial(&*built.system, *seed)),
            Some(from) => {
                let path = context.store.checkpoint(&from.unit, from.update);
                let checkpoint = Checkpoint::load(&path).map_err(|e| unusable(&e))?;
                let state = checkpoint.state(layout).map_err(|e| unusable(&e))?;
                (Some(checkpoint.start()), state)
            }
        };
        let run = RunConfig {
            system: system.clone(),
            cut: *cut,
            seed: *seed,
            stream: *stream,
            start,
            updates: *updates,
            evaluations: evaluations.clone(),
            optimizer: *optimizer,
            precision: *precision,
            numerics: *numerics,
        };
        let run = run.check().map_err(|e| StudyError::invalid(&e, e.hint()))?;
        let (id, head) = (definition.id(), context.head.clone());
        let (records, panels, before) = (Vec::new(), Vec::new(), 0.0);
        let mut training = Self {
            context,
            definition,
            id,
            keep,
            run,
            built,
            state,
            records,
            panels,
            head,
            before,
        };
        training.continue_saved();
        Ok(training)
    }

    /// Takes up a saved state if there is a sound one; otherwise the unit begins anew.
    fn continue_saved(&mut self) {
        let folder = self.context.store.work(&self.id);
        let Ok(checkpoint) = Checkpoint::load(&folder.join("checkpoint.safetensors")) else {
            return;
        };
        let layout = self.built.system.program().layout();
        let (Ok(state), Ok(mut records), Ok(mut panels), Ok(about)) = (
            checkpoint.state(layout),
            log::read(&folder.join("log.bin")),
            panels::read(&folder.join("panels.csv")),
            fs::read_to_string(folder.join("about")),
        ) else {
            return;
        };
        let start = self.state.update;
        let Some(done) = state.update.checked_sub(start) else { return };
        records.truncate(done as usize);
        panels.retain(|(at, _)| *at <= state.update);
        // Whoever saved it may have kept other states: those that are missing are made again.
        let is_kept =
            |u: &u64| *u > state.update || self.context.store.checkpoint(&self.id, *u).exists();
        if !self.keep.iter().all(is_kept) {
            return;
        }
        let due = self.run.config().evaluations.iter().filter(|at| **at <= state.update);
        let is_whole = records.len() as u64 == done
            && panels.iter().map(|(at, _)| at).eq(due)
            && records.iter().zip(start + 1..).all(|(r, want)| r.update.update == want)
            && records.last().is_none_or(|r| r.update.hash == state.hash());
        let Some((head, seconds)) = about.trim_end().split_once(' ') else { return };
        let Ok(seconds) = seconds.parse() else { return };
        if is_whole && checkpoint.header().config_hash == self.run.hash() {
            (self.state, self.records, self.panels) = (state, records, panels);
            // The head under which it began, not the one under which it goes on.
            (self.head, self.before) = (head.to_owned(), seconds);
        }
    }

    fn run(self, progress: &dyn Fn(u64)) -> Result<Ended, StudyError> {
        let Self {
            context,
            definition,
            id,
            keep,
            run,
            built,
            state,
            mut records,
            mut panels,
            head,
            before,
        } = self;
        let began = Instant::now();
        let seconds = || before + began.elapsed().as_secs_f64();
        let layout = built.system.program().layout();
        let failed = |error: &backcut_training::TrainError| {
            let hint = error.hint().to_owned();
            Outcome::Failed { what: error.to_string(), hint }
        };
        let finish = |outcome: Outcome, files: Vec<Beside>| {
            let mut record = Record::new(definition.clone(), outcome, head.clone());
            (record.files, record.seconds) = (files, seconds());
            Ok(Ended::Recorded(Box::new(record)))
        };
        let mut trainer = match Trainer::resume(context.executor, &*built.system, run.arm(), state)
        {
            Ok(trainer) => trainer,
            Err(error) => return finish(failed(&error), vec![]),
        };
        let mut saved = Instant::now();
        while trainer.update() < run.config().updates {
            let outcome = trainer.step().and_then(|log| {
                let is_due = run.config().evaluations.binary_search(&log.update).is_ok();
                Ok((log, if is_due { Some(trainer.evaluate()?) } else { None }))
            });
            let (update, panel) = match outcome {
                Ok(done) => done,
                Err(error) => return finish(failed(&error), vec![]),
            };
            let evaluation = panel.as_ref().map(|p: &Panel| p.mean);
            records.push(LogRecord { update, evaluation });
            panels.extend(panel.map(|p| (update.update, p)));
            if keep.contains(&update.update) {
                let bytes = checkpoint::to_bytes(layout, &trainer.state(), &run);
                publish(&context.store.checkpoint(&id, update.update), &bytes)?;
            }
            progress(update.update);
            let is_stopping = context.stop.load(Ordering::Relaxed);
            let is_last = update.update == run.config().updates;
            if !is_last && (is_stopping || saved.elapsed() >= context.save_after) {
                let folder = context.store.work(&id);
                publish(&folder.join("about"), format!("{head} {}\n", seconds()).as_bytes())?;
                publish(&folder.join("log.bin"), &log::to_bytes(&records))?;
                publish(&folder.join("panels.csv"), panels::to_csv(&panels).as_bytes())?;
                let bytes = checkpoint::to_bytes(layout, &trainer.state(), &run);
                publish(&folder.join("checkpoint.safetensors"), &bytes)?;
                saved = Instant::now();
                if is_stopping {
                    return Ok(Ended::Stopped);
                }
            }
        }
        let log = log::to_bytes(&records);
        publish(&context.store.log(&id), &log)?;
        let log = sha256(&log);
        let files = beside(context.store, &id, keep, &log)?;
        let outcome = Outcome::Trained {
            updates: records.len() as u64,
            clipped: records.iter().filter(|r| r.update.is_clipped()).count() as u64,
            parameters: format!("{:016x}", trainer.state().hash()),
            log,
            evaluations: panels.into_iter().map(evaluation).collect(),
        };
        finish(outcome, files)
    }
}

fn evaluation((update, panel): (u64, Panel)) -> Evaluation {
    Evaluation { update, mean: panel.mean, errors: panel.errors }
}

/// The hashes of what lies beside the record.
fn beside(store: &Store, id: &UnitId, keep: &[u64], log: &str) -> Result<Vec<Beside>, StudyError> {
    let mut files = vec![Beside { name: "log.bin".to_owned(), sha256: log.to_owned() }];
    for &update in keep {
        let path = store.checkpoint(id, update);
        let bytes = fs::read(&path).map_err(StudyError::io(&path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push(Beside { name, sha256: sha256(&bytes) });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.dedup();
    Ok(files)
}

/// Puts a record into the store, beside or instead of an earlier one.
///
/// A result that is computed again must come to the same content, and the first record stands: it says
/// under which head of the ledger the result came to be. A failure that is cured is replaced.
pub fn conclude(store: &Store, before: Option<&Record>, now: &Record) -> Result<(), StudyError> {
    // Another process may have concluded it meanwhile, if it thought that this one had died.
    let found = match (before, store.recorded(&now.unit)) {
        (None, Some(recorded)) => Some(Record::load(store, &now.unit, recorded)?),
        _ => None,
    };
    match before.or(found.as_ref()) {
        Some(before) if before.recorded() == Recorded::Done => {
            if before.content != now.content {
                let path = store.record(&now.unit, Recorded::Done);
                return Err(StudyError::damaged(&path, "computed again, it came out differently"));
            }
            let files = merged(&before.files, &now.files);
            if files != before.files {
                Record { files, ..before.clone() }.save(store)?;
            }
        }
        Some(_) if now.recorded() == Recorded::Done => {
            now.save(store)?;
            let path = store.record(&now.unit, Recorded::Failed);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StudyError::io(&path)(error));
                }
                _ => {}
            }
        }
        _ => now.save(store)?,
    }
    remove_folder(&store.work(&now.unit))
}

/// The files of two records of one unit: studies may keep different states of it.
fn merged(before: &[Beside], now: &[Beside]) -> Vec<Beside> {
    let mut files = now.to_vec();
    let is_gone = |file: &&Beside| now.iter().all(|n| n.name != file.name);
    files.extend(before.iter().filter(is_gone).cloned());
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// Removes a folder, if it is there.
pub(crate) fn remove_folder(folder: &std::path::Path) -> Result<(), StudyError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StudyError::io(folder)(error))
        }
        _ => Ok(()),
    }
}
