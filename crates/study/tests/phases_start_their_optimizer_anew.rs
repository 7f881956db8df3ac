//! Pretraining, then training: two arms of one study, each with the loss, optimizer and budget of
//! its phase.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use backcut_engine::{Program, Rollout, Trace};
use backcut_kernels::Real;
use backcut_lab::training::Checkpoint;
use backcut_study::runner::{RunOptions, run};
use backcut_study::{Definition, Plan, Store, Study, Tools};
use backcut_systems::{
    AdamW, BatchKey, Catalogue, Optimizer, SampleError, Settings, SettingsError, System,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Pushed {
    phase: String,
}

impl Default for Pushed {
    fn default() -> Self {
        Self { phase: "training".to_owned() }
    }
}

impl Pushed {
    fn is_pretraining(&self) -> bool {
        self.phase == "pretraining"
    }
}

struct Point(Arc<Program>);

impl Settings for Pushed {
    const NAME: &'static str = "pushed";
    type System = Point;

    fn build(&mut self) -> Result<Point, SettingsError> {
        let t = Trace::new();
        let x = t.state("x", 1);
        let next = x * 0.5 + t.linear("push", x, 1);
        t.next("x", next);
        t.loss(if self.is_pretraining() { (next - x).square() } else { next.square() });
        Ok(Point(Arc::new(t.compile()?)))
    }

    fn phase(&self) -> &'static str {
        if self.is_pretraining() { "pretraining" } else { "training" }
    }

    fn optimizer(&self) -> Optimizer {
        let rate = if self.is_pretraining() { 0.1 } else { 0.01 };
        Optimizer::adamw(AdamW { rate, ..AdamW::default() }, 1.0)
    }

    fn updates(&self) -> u64 {
        if self.is_pretraining() { 7 } else { 5 }
    }
}

impl<R: Real> System<R> for Point {
    fn program(&self) -> &Arc<Program> {
        &self.0
    }

    fn steps(&self) -> usize {
        4
    }

    fn batch_rows(&self) -> usize {
        2
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        let x = rollout.initial_mut("x").ok_or_else(|| SampleError("no x".to_owned()))?;
        x.iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = R::from_f64((key.update + 1) as f64 + i as f64));
        Ok(())
    }
}

const STUDY: &str = r#"
name = "phases"
title = "Pretraining, then training"
[system]
name = "pushed"
[sources]
first = 1
count = 1
[arms.pre]
cut = "FF"
settings = { phase = "pretraining" }
[arms.FF]
from = "pre"
cut = "FF"
settings = { phase = "training" }
keep = [12]
[arms.more]
from = "pre"
cut = "FF"
updates = 9
keep = [9]
"#;

#[test]
fn a_branch_into_another_phase_keeps_parameters_alone() {
    let catalogue = Catalogue::new().with::<Pushed>();
    let load = |_: &Path| Ok(STUDY.to_owned());
    let study = Study::load_with(Path::new("s.toml"), &catalogue, &load).unwrap();
    let plan = Plan::new(&study);
    let run_of = |index: u32| match plan.definition(&study, index) {
        Definition::Train(run) => run,
        other => panic!("{other:?}"),
    };
    let rates = [0, 1, 2].map(|unit| run_of(unit).optimizer.rule.rate());
    assert_eq!(rates, [0.1, 0.01, 0.1], "each phase has its optimizer");
    // Budgets are the phases' own: 7, then 5 more; and 9 where the file says so.
    assert_eq!([0, 1, 2].map(|unit| run_of(unit).updates), [7, 12, 9]);

    let folder = tempfile::tempdir().unwrap();
    let (store, stop) = (Store::new(folder.path()), AtomicBool::new(false));
    let (tools, options) = (Tools::new(&catalogue), RunOptions::default());
    let tally = run(&study, &plan, &store, tools, &options, &stop, &mut |_| {}).unwrap();
    assert_eq!((tally.computed, tally.failed), (3, 0));
    let kept = |unit: usize, update: u64| {
        let path = store.checkpoint(&plan.units[unit].id, update);
        Checkpoint::load(&path).unwrap().header().clone()
    };
    assert_eq!(kept(0, 7).adam_step, 7);
    assert_eq!((kept(1, 12).update, kept(1, 12).adam_step), (12, 5), "begun anew");
    assert_eq!((kept(2, 9).update, kept(2, 9).adam_step), (9, 9), "the same phase goes on");
}
