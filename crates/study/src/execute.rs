//! One unit, computed: train, measure or have a program do it, save now and then, leave a record.
//!
//! **Short units cost nothing extra.** A unit's saved state is written only after it has computed
//! for a while (`Context::save_after`); a two-second unit that is killed starts again. The order
//! of a saved state is log, panels, checkpoint, so whatever a kill leaves reaches at least as far
//! as the checkpoint.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use backcut_lab::measure::{Subject, measure};
use backcut_lab::training::{
    Branch, Panel, RunConfig, Snapshot, State, TrainError, Training, ValidRun, log, panels, sha256,
};
use backcut_systems::Built;
use backcut_text::Hinted as _;

use crate::command;
use crate::context::{Context, Ended};
use crate::error::StudyError;
use crate::program::Replay;
use crate::record::{Evaluation, KeptFile, Outcome, Record, Started};
use crate::store::{Recorded, Store, publish};
use crate::unit::{Definition, Measuring, StateOf, UnitId};

/// Computes a unit. Its log and checkpoints are in the store when this returns; the record is not,
/// nor is the saved state removed: that is for [`conclude`]. `keep` lists updates whose checkpoint
/// is kept; `progress` hears of every update.
pub fn execute(
    context: &Context,
    definition: &Definition,
    keep: &[u64],
    progress: &dyn Fn(u64),
) -> Result<Ended, StudyError> {
    match definition {
        Definition::Train(run) => {
            let (unit, snapshot) = TrainingUnit::open(context, definition, run, keep)?;
            unit.compute(snapshot, progress)
        }
        Definition::Measure(what) => {
            let began = Instant::now();
            let (outcome, started) = findings(context, what)?;
            let mut record = Record::new(definition.clone(), outcome, context.head.clone());
            record.started = started;
            record.seconds = began.elapsed().as_secs_f64();
            Ok(Ended::Recorded(Box::new(record)))
        }
        Definition::Command(what) => command::execute(context, what, progress),
    }
}

fn findings(context: &Context, what: &Measuring) -> Result<(Outcome, Vec<Started>), StudyError> {
    let subject = context.parent(what.of)?;
    let reference = what.reference.map(|state| context.parent(state)).transpose()?;
    let of = Subject::of(&subject.state);
    let common = reference.as_ref().map(|parent| Subject::of(&parent.state));
    let outcome = match measure(&what.measurement, &of, common.as_ref()) {
        Ok(findings) => Outcome::Measured { findings },
        Err(error) => Outcome::Failed { what: error.to_string(), hint: String::new() },
    };
    let started = std::iter::once(subject).chain(reference).map(|parent| parent.started).collect();
    Ok((outcome, started))
}

/// A training unit with all that was decided before its first update.
struct TrainingUnit<'a> {
    context: &'a Context<'a>,
    definition: &'a Definition,
    id: UnitId,
    keep: &'a [u64],
    run: ValidRun,
    built: Arc<Built>,
    /// The state that it branches from.
    started: Option<Started>,
    /// The ledger's head under which it began.
    head: String,
    /// Seconds of earlier processes.
    before: f64,
}

impl<'a> TrainingUnit<'a> {
    fn open(
        context: &'a Context<'a>,
        definition: &'a Definition,
        run: &RunConfig<StateOf>,
        keep: &'a [u64],
    ) -> Result<(Self, Snapshot), StudyError> {
        let catalogue = context.tools.catalogue;
        let built = catalogue.restore(&run.system).map_err(StudyError::from_hinted)?;
        let (start, state, started) = match run.start {
            None => (None, State::initial(built.system(), run.seed), None),
            Some(from) => {
                let parent = context.parent(from)?;
                let Branch { start, state } = parent.state.branch(&built, &run.optimizer);
                (Some(start), state, Some(parent.started))
            }
        };
        let run = run.clone().starting(start).check().map_err(StudyError::from_hinted)?;
        let (id, head, before) = (definition.id(), context.head.clone(), 0.0);
        let mut unit = Self { context, definition, id, keep, run, built, started, head, before };
        let snapshot = unit.take_up().unwrap_or_else(|| Snapshot::beginning(state));
        Ok((unit, snapshot))
    }

    /// What a saved state knows of its past: the head it began under, and seconds.
    fn about(&self) -> PathBuf {
        self.context.store.work(&self.id).path().join("about")
    }

    /// Takes up a saved state if there is a sound one.
    fn take_up(&mut self) -> Option<Snapshot> {
        let store = self.context.store;
        let layout = self.built.system().program().layout();
        let saved = store.work(&self.id).load(&self.run, layout).ok()?;
        // Whoever saved it may have kept other states: those that are missing are made again.
        let is_kept = |u: &u64| *u > saved.state.update || store.checkpoint(&self.id, *u).exists();
        let about = backcut_files::read_text(&self.about()).ok()?;
        let (head, seconds) = about.trim_end().split_once(' ')?;
        let seconds = seconds.parse().ok()?;
        if !self.keep.iter().all(is_kept) {
            return None;
        }
        // The head under which it began, not the one under which it goes on.
        (self.head, self.before) = (head.to_owned(), seconds);
        Some(saved)
    }

    fn compute(&self, snapshot: Snapshot, progress: &dyn Fn(u64)) -> Result<Ended, StudyError> {
        let began = Instant::now();
        let seconds = || self.before + began.elapsed().as_secs_f64();
        let training = Training::resume(self.built.system(), &self.run, snapshot);
        let mut training = match training {
            Ok(training) => training,
            Err(error) => return Ok(self.ended(failed(&error), vec![], seconds())),
        };
        let mut saved = Instant::now();
        while let Some(completed) = training.next() {
            let update = match completed {
                Ok(completed) => completed.update.update,
                Err(error) => return Ok(self.ended(failed(&error), vec![], seconds())),
            };
            if self.keep.contains(&update) {
                let path = self.context.store.checkpoint(&self.id, update);
                publish(&path, &training.checkpoint())?;
            }
            progress(update);
            let is_stopping = self.context.stop.load(Ordering::Relaxed);
            let is_due = is_stopping || saved.elapsed() >= self.context.save_after;
            if is_due && !training.is_finished() {
                self.save(&training, seconds())?;
                saved = Instant::now();
                if is_stopping {
                    return Ok(Ended::Stopped);
                }
            }
        }
        let log = log::to_bytes(training.records());
        publish(&self.context.store.beside(&self.id).log(), &log)?;
        let log = sha256(&log);
        let files = beside(self.context.store, &self.id, self.keep, &log)?;
        let outcome = Outcome::Trained {
            updates: training.records().len() as u64,
            clipped: training.clipped(),
            parameters: format!("{:016x}", training.trainer().state().hash()),
            log,
            evaluations: training.panels().iter().map(evaluation).collect(),
        };
        Ok(self.ended(outcome, files, seconds()))
    }

    /// Log, panels, checkpoint, in this order: whatever a kill leaves reaches as far as the
    /// checkpoint.
    fn save(&self, training: &Training, seconds: f64) -> Result<(), StudyError> {
        let folder = self.context.store.work(&self.id);
        publish(&self.about(), format!("{} {seconds}\n", self.head).as_bytes())?;
        publish(&folder.log(), &log::to_bytes(training.records()))?;
        publish(&folder.panels(), panels::to_csv(training.panels()).as_bytes())?;
        publish(&folder.checkpoint(), &training.checkpoint())
    }

    fn ended(&self, outcome: Outcome, files: Vec<KeptFile>, seconds: f64) -> Ended {
        let mut record = Record::new(self.definition.clone(), outcome, self.head.clone());
        record.started = self.started.iter().cloned().collect();
        (record.files, record.seconds) = (files, seconds);
        Ended::Recorded(Box::new(record))
    }
}

fn failed(error: &TrainError) -> Outcome {
    Outcome::Failed { what: error.to_string(), hint: error.hint().into_owned() }
}

fn evaluation((update, panel): &(u64, Panel)) -> Evaluation {
    Evaluation { update: *update, mean: panel.mean, errors: panel.errors.clone() }
}

/// The hashes of what lies beside the record.
fn beside(
    store: &Store,
    id: &UnitId,
    keep: &[u64],
    log: &str,
) -> Result<Vec<KeptFile>, StudyError> {
    let mut files = vec![KeptFile { name: "log.bin".to_owned(), sha256: log.to_owned() }];
    for &update in keep {
        let path = store.checkpoint(id, update);
        let bytes = backcut_files::read(&path).map_err(StudyError::io(&path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push(KeptFile { name, sha256: sha256(&bytes) });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.dedup();
    Ok(files)
}

/// Puts a record into the store, beside or instead of an earlier one.
///
/// A result that is computed again must come to the same content, and the first record stands: it
/// says under which head of the ledger the result came to be. A failure that is cured is replaced.
pub fn conclude(store: &Store, before: Option<&Record>, now: &Record) -> Result<(), StudyError> {
    // Another process may have concluded it meanwhile, if it thought that this one had died.
    let found = match (before, store.recorded(&now.unit)) {
        (None, Some(recorded)) => Some(Record::load(store, &now.unit, recorded)?),
        _ => None,
    };
    match before.or(found.as_ref()) {
        Some(before) if before.recorded() == Recorded::Done => {
            if before.content != now.content && is_repeatable(&now.definition) {
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
    // What a program has saved by its limit is worth another attempt with a longer one.
    if now.ran.as_ref().is_some_and(|ran| ran.timed_out) {
        return Ok(());
    }
    remove_folder(store.work(&now.unit).path())
}

/// Whether a unit computed again must come out the same: programs may say that theirs do not.
fn is_repeatable(definition: &Definition) -> bool {
    match definition {
        Definition::Command(what) => what.replay == Replay::Bitwise,
        Definition::Train(_) | Definition::Measure(_) => true,
    }
}

/// The files of two records of one unit: studies may keep different states of it.
fn merged(before: &[KeptFile], now: &[KeptFile]) -> Vec<KeptFile> {
    let mut files = now.to_vec();
    let is_gone = |file: &&KeptFile| now.iter().all(|n| n.name != file.name);
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
