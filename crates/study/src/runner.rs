//! Many units on one machine: one per core, what it starts from before it, failures counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::claim::{Attempt, Claims};
use crate::commit::ledger;
use crate::context::{Context, Ended};
use crate::error::StudyError;
use crate::execute::{conclude, execute, remove_folder};
use crate::plan::Plan;
use crate::program::Surroundings;
use crate::record::{Outcome, Record};
pub use crate::schedule::{RunOptions, Tally, shard_of};
use crate::schedule::{Schedule, UnitStage, blocked, is_ours, schedule};
use crate::store::{Recorded, Store};
use crate::study::Study;
use crate::tools::Tools;
use crate::unit::UnitId;

/// What happens while a study runs.
#[derive(Debug)]
pub enum Event {
    /// A unit begins.
    Started {
        /// Its index in the plan.
        unit: u32,
        /// The owner of a stale claim it was taken over from.
        taken_from: Option<String>,
    },
    /// A unit has done updates since the last word of it.
    Progress {
        /// Its index.
        unit: u32,
        /// The update it has reached.
        update: u64,
    },
    /// A unit has a record.
    Finished {
        /// Its index.
        unit: u32,
        /// The record.
        record: Box<Record>,
    },
    /// Another process finished it.
    Elsewhere {
        /// Its index.
        unit: u32,
    },
    /// A unit was stopped and saved.
    Stopped {
        /// Its index.
        unit: u32,
    },
    /// Nothing to do here until others are done.
    Waiting {
        /// Units that others hold.
        held: usize,
    },
}

struct Shared<'a> {
    study: &'a Study,
    plan: &'a Plan,
    store: &'a Store,
    tools: Tools<'a>,
    options: &'a RunOptions,
    stop: &'a AtomicBool,
    claims: Claims,
    children: Vec<Vec<u32>>,
    schedule: Mutex<Schedule>,
    changed: Condvar,
    /// Units that this process computed.
    computed: AtomicUsize,
    /// The ledger's length and head when it was last read; it only ever grows.
    head: Mutex<Option<(u64, String)>>,
}

/// Runs a plan until everything of it that can be done is done, or `stop` is set. Events arrive on
/// the calling thread.
pub fn run(
    study: &Study,
    plan: &Plan,
    store: &Store,
    tools: Tools,
    options: &RunOptions,
    stop: &AtomicBool,
    listen: &mut dyn FnMut(Event),
) -> Result<Tally, StudyError> {
    let claims = Claims::open(store.claims(), options.stale_after)?;
    let found = store.scan()?;
    tidy(store, &claims, &found)?;
    let (schedule, children, mut tally) = schedule(study, plan, store, options, &found);
    let shared = Shared {
        study,
        plan,
        store,
        tools,
        options,
        stop,
        claims,
        children,
        schedule: Mutex::new(schedule),
        changed: Condvar::new(),
        computed: AtomicUsize::new(0),
        head: Mutex::new(None),
    };
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.get().min(plan.units.len()) {
            let sender = sender.clone();
            let shared = &shared;
            scope.spawn(move || shared.work(&sender));
        }
        drop(sender);
        shared.listen(&receiver, listen);
    });
    let schedule = shared.schedule.into_inner().unwrap_or_else(PoisonError::into_inner);
    let blocked = blocked(plan, &schedule.stages);
    let ours = (0..plan.units.len()).filter(|&i| is_ours(plan, options, i as u32));
    let mut done = 0;
    for index in ours {
        done += usize::from(schedule.stages[index] == UnitStage::Done);
        tally.failed += usize::from(schedule.stages[index] == UnitStage::Failed);
        tally.blocked += usize::from(blocked[index]);
        tally.units += 1;
    }
    tally.computed = shared.computed.into_inner();
    tally.elsewhere = done.saturating_sub(tally.reused + tally.computed);
    tally.left = tally.units - done - tally.failed - tally.blocked;
    match schedule.error {
        Some(error) => Err(error),
        None => Ok(tally),
    }
}

/// Removes what a kill left behind a record: the saved state and the claim of a unit that is done.
fn tidy(
    store: &Store,
    claims: &Claims,
    found: &HashMap<UnitId, Recorded>,
) -> Result<(), StudyError> {
    for id in store.begun()? {
        if found.get(&id) == Some(&Recorded::Done) && claims.clear(&id) {
            store.sweep(&id);
            remove_folder(store.work(&id).path())?;
        }
    }
    Ok(())
}

/// How often others' claims are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One worker: take, compute, tell.
    fn work(&self, sender: &Sender<Event>) {
        while let Some(unit) = self.take(sender) {
            let id = self.plan.units[unit as usize].id;
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                self.compute(unit, sender)
            }));
            self.claims.release(&id);
            let stage = match outcome {
                Ok(Ok(stage)) => Ok(stage),
                Ok(Err(error)) => Err(error),
                Err(_) => Err(StudyError::bug(format!(
                    "the computation of {} panicked; it stays pending",
                    self.plan.words(self.study, unit)
                ))),
            };
            self.settle(unit, stage);
        }
    }

    /// The next unit that nobody else computes; `None` when there is nothing more to do.
    fn take(&self, sender: &Sender<Event>) -> Option<u32> {
        let mut told = 0;
        loop {
            let mut schedule = self.lock();
            if schedule.is_ending || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(unit) = schedule.ready.pop_first() {
                schedule.stages[unit as usize] = UnitStage::Running;
                schedule.running += 1;
                return Some(unit);
            }
            if schedule.running == 0 && schedule.held.is_empty() {
                self.changed.notify_all();
                return None;
            }
            if schedule.held.len() != told {
                told = schedule.held.len();
                let _ = sender.send(Event::Waiting { held: told }); // the listener may have gone
            }
            let (mut schedule, timeout) = self
                .changed
                .wait_timeout(schedule, LOOK_AGAIN)
                .unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                let held = std::mem::take(&mut schedule.held);
                for unit in held {
                    schedule.stages[unit as usize] = UnitStage::Ready;
                    schedule.ready.insert(unit);
                }
            }
        }
    }

    fn compute(&self, unit: u32, sender: &Sender<Event>) -> Result<UnitStage, StudyError> {
        let id = self.plan.units[unit as usize].id;
        let Attempt::Ours { from } = self.claims.attempt(&id)? else { return Ok(UnitStage::Held) };
        if from.is_some() {
            self.store.sweep(&id);
        }
        // Another process may have finished it since the listing.
        let was = self.store.recorded(&id);
        let definition = self.plan.definition(self.study, unit);
        let keep = self.plan.keep(unit);
        let has_files = keep.iter().all(|&u| self.store.has_state(&id, u));
        match was {
            Some(Recorded::Done) if has_files => {
                let _ = sender.send(Event::Elsewhere { unit });
                return Ok(UnitStage::Done);
            }
            Some(Recorded::Failed) if !self.options.only_failed => {
                let _ = sender.send(Event::Elsewhere { unit });
                return Ok(UnitStage::Failed);
            }
            _ => {}
        }
        let _ = sender.send(Event::Started { unit, taken_from: from });
        let before = match was {
            Some(recorded) => Some(Record::load(self.store, &id, recorded)?),
            None => None,
        };
        let context = Context {
            store: self.store,
            states: self.store,
            tools: self.tools,
            head: self.head()?,
            save_after: self.options.save_after,
            stop: self.stop,
            surroundings: self.surroundings(unit),
        };
        let last = std::cell::Cell::new(Instant::now());
        let progress = |update: u64| {
            if last.get().elapsed() >= Duration::from_millis(100) {
                last.set(Instant::now());
                let _ = sender.send(Event::Progress { unit, update });
            }
        };
        let ended = execute(&context, &definition, keep, &progress);
        // A process that was stopped and goes on may find its unit taken over, or done: it is
        // theirs.
        if !self.claims.holds(&id) {
            return Ok(UnitStage::Held);
        }
        match ended? {
            Ended::Stopped => {
                let _ = sender.send(Event::Stopped { unit });
                Ok(UnitStage::Outside)
            }
            Ended::Recorded(record) => {
                let stage = match record.outcome {
                    Outcome::Failed { .. } => UnitStage::Failed,
                    _ => UnitStage::Done,
                };
                conclude(self.store, before.as_ref(), &record)?;
                let is_done = stage == UnitStage::Done;
                self.computed.fetch_add(usize::from(is_done), Ordering::Relaxed);
                let _ = sender.send(Event::Finished { unit, record });
                Ok(stage)
            }
        }
    }

    /// Where a unit's program runs, if it has one.
    fn surroundings(&self, unit: u32) -> Option<Surroundings> {
        let arm = &self.study.arms[self.plan.units[unit as usize].arm as usize];
        arm.program.as_ref()?.surroundings.clone()
    }

    /// The ledger's head as it is now; the file is read again only if it has grown.
    fn head(&self) -> Result<String, StudyError> {
        let length = std::fs::metadata(self.store.ledger()).map_or(0, |m| m.len());
        let mut known = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((then, head)) if *then == length => Ok(head.clone()),
            _ => {
                let head = ledger(self.store)?.head().to_string();
                *known = Some((length, head.clone()));
                Ok(head)
            }
        }
    }

    fn settle(&self, unit: u32, stage: Result<UnitStage, StudyError>) {
        let mut schedule = self.lock();
        schedule.running -= 1;
        match stage {
            Ok(stage) => {
                schedule.stages[unit as usize] = stage;
                match stage {
                    UnitStage::Held => {
                        schedule.held.insert(unit);
                    }
                    UnitStage::Done => {
                        for &child in &self.children[unit as usize] {
                            schedule.missing[child as usize] -= 1;
                            let is_free = schedule.missing[child as usize] == 0;
                            if is_free && schedule.stages[child as usize] == UnitStage::Waiting {
                                schedule.stages[child as usize] = UnitStage::Ready;
                                schedule.ready.insert(child);
                            }
                        }
                    }
                    UnitStage::Failed if self.options.fail_fast => schedule.is_ending = true,
                    _ => {}
                }
            }
            Err(error) => {
                schedule.stages[unit as usize] = UnitStage::Outside;
                schedule.is_ending = true;
                schedule.error.get_or_insert(error);
            }
        }
        drop(schedule);
        self.changed.notify_all();
    }

    /// Passes events on and keeps the claims' beats going.
    fn listen(&self, receiver: &Receiver<Event>, listen: &mut dyn FnMut(Event)) {
        let every = (self.options.stale_after / 4)
            .clamp(Duration::from_millis(20), Duration::from_secs(15));
        let mut beaten = Instant::now();
        loop {
            match receiver.recv_timeout(every.saturating_sub(beaten.elapsed())) {
                Ok(event) => listen(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if beaten.elapsed() >= every {
                self.claims.beat();
                beaten = Instant::now();
            }
        }
    }
}
