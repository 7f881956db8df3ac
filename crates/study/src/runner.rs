//! Many units on one machine: one per core, what it starts from before it, failures counted.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backcut_engine::Cpu;

use crate::claim::{Attempt, Claims};
use crate::error::StudyError;
use crate::execute::{Context, Ended, conclude, execute, remove_folder};
use crate::plan::Plan;
use crate::record::{Outcome, Record};
use crate::store::{Recorded, Store};
use crate::study::Study;
use crate::systems::Catalogue;
use crate::unit::UnitId;

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Units at a time.
    pub jobs: NonZeroUsize,
    /// This part of that many: `(1, 4)` is the first of four.
    pub shard: Option<(u64, u64)>,
    /// Compute only what failed before.
    pub only_failed: bool,
    /// Start nothing more after a failure.
    pub fail_fast: bool,
    /// A claim of another host is stale when its beat has stood still this long.
    pub stale_after: Duration,
    /// Save the state of a long unit this often.
    pub save_after: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            jobs: NonZeroUsize::MIN,
            shard: None,
            only_failed: false,
            fail_fast: false,
            stale_after: Duration::from_mins(1),
            save_after: Duration::from_secs(30),
        }
    }
}

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

/// What a run came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Units of this run (its shard).
    pub units: usize,
    /// Were there before.
    pub reused: usize,
    /// Computed now.
    pub computed: usize,
    /// Failed, now or before.
    pub failed: usize,
    /// Could not begin, because what they start from failed.
    pub blocked: usize,
    /// Left for another time.
    pub left: usize,
}

/// Which shard a unit belongs to: units that start from one another stay together, on whatever grid
/// they were planned.
pub fn shard_of(plan: &Plan, unit: u32, shards: u64) -> u64 {
    let mut unit = &plan.units[unit as usize];
    while let Some(start) = unit.needs[0] {
        unit = &plan.units[start as usize];
    }
    // Sources and conditions in the order of the plan, dealt out like cards.
    (u64::from(unit.condition).wrapping_mul(7919) + u64::from(unit.source)) % shards.max(1)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stand {
    /// Not of this run.
    Outside,
    Waiting,
    Ready,
    Running,
    Held,
    Done,
    Failed,
}

struct Schedule {
    stands: Vec<Stand>,
    /// How many needed units are not done yet.
    missing: Vec<u8>,
    ready: BTreeSet<u32>,
    held: BTreeSet<u32>,
    running: usize,
    is_ending: bool,
    error: Option<StudyError>,
}

struct Shared<'a> {
    study: &'a Study,
    plan: &'a Plan,
    store: &'a Store,
    catalogue: &'a dyn Catalogue,
    options: &'a RunOptions,
    stop: &'a AtomicBool,
    claims: Claims,
    children: Vec<Vec<u32>>,
    schedule: Mutex<Schedule>,
    changed: Condvar,
    /// The ledger's length and head when it was last read; it only ever grows.
    head: Mutex<Option<(u64, String)>>,
}

/// Runs a plan until everything of it that can be done is done, or `stop` is set. Events arrive on the
/// calling thread.
pub fn run(
    study: &Study,
    plan: &Plan,
    store: &Store,
    catalogue: &dyn Catalogue,
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
        catalogue,
        options,
        stop,
        claims,
        children,
        schedule: Mutex::new(schedule),
        changed: Condvar::new(),
        head: Mutex::new(None),
    };
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.get() {
            let sender = sender.clone();
            let shared = &shared;
            scope.spawn(move || shared.work(&sender));
        }
        drop(sender);
        shared.listen(&receiver, listen);
    });
    let schedule = shared.schedule.into_inner().unwrap_or_else(PoisonError::into_inner);
    let blocked = blocked(plan, &schedule.stands);
    let ours = (0..plan.units.len()).filter(|&i| is_ours(plan, options, i as u32));
    let mut done = 0;
    for index in ours {
        done += usize::from(schedule.stands[index] == Stand::Done);
        tally.failed += usize::from(schedule.stands[index] == Stand::Failed);
        tally.blocked += usize::from(blocked[index]);
        tally.units += 1;
    }
    tally.computed = done - tally.reused.min(done);
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
            remove_folder(&store.work(&id))?;
        }
    }
    Ok(())
}

/// Units that wait for one that failed.
fn blocked(plan: &Plan, stands: &[Stand]) -> Vec<bool> {
    let mut is_blocked = vec![false; stands.len()];
    for (index, unit) in plan.units.iter().enumerate() {
        let needs = unit.needs.iter().flatten();
        let by = |n: &u32| stands[*n as usize] == Stand::Failed || is_blocked[*n as usize];
        is_blocked[index] = stands[index] == Stand::Waiting && needs.clone().any(by);
    }
    is_blocked
}

fn is_ours(plan: &Plan, options: &RunOptions, unit: u32) -> bool {
    options.shard.is_none_or(|(i, n)| shard_of(plan, unit, n) == i - 1)
}

fn schedule(
    study: &Study,
    plan: &Plan,
    store: &Store,
    options: &RunOptions,
    found: &HashMap<UnitId, Recorded>,
) -> (Schedule, Vec<Vec<u32>>, Tally) {
    let count = plan.units.len();
    let mut stands = vec![Stand::Outside; count];
    let mut tally = Tally::default();
    for index in 0..count as u32 {
        let is_ours = is_ours(plan, options, index);
        let recorded = found.get(&plan.units[index as usize].id);
        stands[index as usize] = match recorded {
            Some(Recorded::Done) => Stand::Done,
            Some(Recorded::Failed) if options.only_failed && is_ours => Stand::Waiting,
            Some(Recorded::Failed) => Stand::Failed,
            None if options.only_failed || !is_ours => Stand::Outside,
            None => Stand::Waiting,
        };
        tally.reused += usize::from(is_ours && stands[index as usize] == Stand::Done);
    }
    // A result whose checkpoint is needed and not there is computed again, for the checkpoint.
    for index in (0..count).rev() {
        if stands[index] != Stand::Waiting {
            continue;
        }
        for (need, update) in plan.needed(study, index as u32) {
            let stand = &mut stands[need as usize];
            let id = &plan.units[need as usize].id;
            if *stand == Stand::Done && !store.checkpoint(id, update).exists() {
                *stand = Stand::Waiting;
                tally.reused -= usize::from(is_ours(plan, options, need));
            }
        }
    }
    let mut children = vec![Vec::new(); count];
    let mut missing = vec![0; count];
    let mut ready = BTreeSet::new();
    for (index, unit) in plan.units.iter().enumerate() {
        for need in unit.needs.iter().flatten() {
            children[*need as usize].push(index as u32);
            missing[index] += u8::from(stands[*need as usize] != Stand::Done);
        }
        if stands[index] == Stand::Waiting && missing[index] == 0 {
            stands[index] = Stand::Ready;
            ready.insert(index as u32);
        }
    }
    let (held, running, is_ending, error) = (BTreeSet::new(), 0, false, None);
    (Schedule { stands, missing, ready, held, running, is_ending, error }, children, tally)
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
            let stand = match outcome {
                Ok(Ok(stand)) => Ok(stand),
                Ok(Err(error)) => Err(error),
                Err(_) => Err(StudyError::invalid(
                    format!("the computation of {} panicked", self.plan.words(self.study, unit)),
                    "this is a bug; the unit stays pending",
                )),
            };
            self.settle(unit, stand);
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
                schedule.stands[unit as usize] = Stand::Running;
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
                    schedule.stands[unit as usize] = Stand::Ready;
                    schedule.ready.insert(unit);
                }
            }
        }
    }

    fn compute(&self, unit: u32, sender: &Sender<Event>) -> Result<Stand, StudyError> {
        let id = self.plan.units[unit as usize].id;
        let Attempt::Ours { from } = self.claims.attempt(&id)? else { return Ok(Stand::Held) };
        if from.is_some() {
            self.store.sweep(&id);
        }
        // Another process may have finished it since the listing.
        let was = self.store.recorded(&id);
        let definition = self.plan.definition(self.study, unit);
        let keep = self.plan.keep(unit);
        let has_files = keep.iter().all(|&u| self.store.checkpoint(&id, u).exists());
        match was {
            Some(Recorded::Done) if has_files => {
                let _ = sender.send(Event::Elsewhere { unit });
                return Ok(Stand::Done);
            }
            Some(Recorded::Failed) if !self.options.only_failed => {
                let _ = sender.send(Event::Elsewhere { unit });
                return Ok(Stand::Failed);
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
            catalogue: self.catalogue,
            executor: Cpu::detect(),
            head: self.head()?,
            save_after: self.options.save_after,
            stop: self.stop,
        };
        let last = std::cell::Cell::new(Instant::now());
        let progress = |update: u64| {
            if last.get().elapsed() >= Duration::from_millis(100) {
                last.set(Instant::now());
                let _ = sender.send(Event::Progress { unit, update });
            }
        };
        match execute(&context, &definition, keep, &progress)? {
            Ended::Stopped => {
                let _ = sender.send(Event::Stopped { unit });
                Ok(Stand::Outside)
            }
            Ended::Recorded(record) => {
                let stand = match record.outcome {
                    Outcome::Failed { .. } => Stand::Failed,
                    _ => Stand::Done,
                };
                conclude(self.store, before.as_ref(), &record)?;
                let _ = sender.send(Event::Finished { unit, record });
                Ok(stand)
            }
        }
    }

    /// The ledger's head as it is now; the file is read again only if it has grown.
    fn head(&self) -> Result<String, StudyError> {
        let length = std::fs::metadata(self.store.ledger()).map_or(0, |m| m.len());
        let mut known = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((then, head)) if *then == length => Ok(head.clone()),
            _ => {
                let head = self.store.head()?;
                *known = Some((length, head.clone()));
                Ok(head)
            }
        }
    }

    fn settle(&self, unit: u32, stand: Result<Stand, StudyError>) {
        let mut schedule = self.lock();
        schedule.running -= 1;
        match stand {
            Ok(stand) => {
                schedule.stands[unit as usize] = stand;
                match stand {
                    Stand::Held => {
                        schedule.held.insert(unit);
                    }
                    Stand::Done => {
                        for &child in &self.children[unit as usize] {
                            schedule.missing[child as usize] -= 1;
                            let is_free = schedule.missing[child as usize] == 0;
                            if is_free && schedule.stands[child as usize] == Stand::Waiting {
                                schedule.stands[child as usize] = Stand::Ready;
                                schedule.ready.insert(child);
                            }
                        }
                    }
                    Stand::Failed if self.options.fail_fast => schedule.is_ending = true,
                    _ => {}
                }
            }
            Err(error) => {
                schedule.stands[unit as usize] = Stand::Outside;
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
