//! The training loop, once: update, evaluate where that is due, remember both.
//!
//! A [`Training`] is an iterator over the updates of a configured run. It knows no folder and no
//! clock: whoever drives it decides what is saved where and when (`backcut train` in
//! [`crate::training::run`], studies in their store), from [`Training::snapshot`], and takes it up
//! again with [`Training::resume`].

use backcut_systems::System;

use crate::training::config::ValidRun;
use crate::training::evaluate::Panel;
use crate::training::log::Record;
use crate::training::panels::Panels;
use crate::training::trainer::{State, TrainError, Trainer, UpdateLog};

/// Everything that continues a run as if it had never stopped.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Parameters, moments and counters.
    pub state: State<f32>,
    /// One record per update of this run (a branch counts its own).
    pub records: Vec<Record>,
    /// Its evaluations.
    pub panels: Panels,
}

impl Snapshot {
    /// A run that begins at a state.
    pub fn beginning(state: State<f32>) -> Self {
        Self { state, records: Vec::new(), panels: Vec::new() }
    }
}

/// An update that was made.
#[derive(Clone, PartialEq, Debug)]
pub struct Completed {
    /// The update.
    pub update: UpdateLog,
    /// The panel, where it was evaluated.
    pub panel: Option<Panel>,
}

/// A run in memory, on its way from one update to the next.
pub struct Training<'s> {
    trainer: Trainer<'s, f32>,
    run: &'s ValidRun,
    records: Vec<Record>,
    panels: Panels,
}

impl<'s> Training<'s> {
    /// Goes on where a snapshot was taken; a new run goes on from [`Snapshot::beginning`].
    pub fn resume(
        system: &'s dyn System<f32>,
        run: &'s ValidRun,
        snapshot: Snapshot,
    ) -> Result<Self, TrainError> {
        let Snapshot { state, records, panels } = snapshot;
        let trainer = Trainer::resume(system, run.arm(), state)?;
        Ok(Self { trainer, run, records, panels })
    }

    /// The trainer as it is now.
    pub fn trainer(&self) -> &Trainer<'s, f32> {
        &self.trainer
    }

    /// Updates done since initialisation.
    pub fn update(&self) -> u64 {
        self.trainer.update()
    }

    /// All updates that were asked for are done.
    pub fn is_finished(&self) -> bool {
        self.update() >= self.run.config().updates
    }

    /// One record per update of this run.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Its evaluations so far.
    pub fn panels(&self) -> &Panels {
        &self.panels
    }

    /// Updates of this run whose gradient was clipped.
    pub fn clipped(&self) -> u64 {
        self.records.iter().filter(|r| r.update.is_clipped()).count() as u64
    }

    /// The state as a checkpoint's bytes.
    pub fn checkpoint(&self) -> Vec<u8> {
        let layout = self.trainer.model().program().layout();
        crate::training::checkpoint::to_bytes(layout, &self.trainer.state(), self.run)
    }

    /// A copy of everything that continues this run.
    pub fn snapshot(&self) -> Snapshot {
        let (records, panels) = (self.records.clone(), self.panels.clone());
        Snapshot { state: self.trainer.state(), records, panels }
    }

    fn complete_one(&mut self) -> Result<Completed, TrainError> {
        let update = self.trainer.step()?;
        let is_due = self.run.config().evaluations.binary_search(&update.update).is_ok();
        let panel = if is_due { Some(self.trainer.evaluate()?) } else { None };
        self.records.push(Record { update, evaluation: panel.as_ref().map(|p| p.mean) });
        self.panels.extend(panel.clone().map(|panel| (update.update, panel)));
        Ok(Completed { update, panel })
    }
}

impl Iterator for Training<'_> {
    type Item = Result<Completed, TrainError>;

    /// The next update, with its evaluation where one is due; `None` when all are done.
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_finished() { None } else { Some(self.complete_one()) }
    }
}
