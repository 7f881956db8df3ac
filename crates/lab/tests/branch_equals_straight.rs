//! Branching from a checkpoint and continuing under the same cut is the run that never stopped.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_engine::Cut;
use backcut_lab::training::{
    Begin, Checkpoint, Folder, RunConfig, RunOptions, State, Trainer, ValidRun, config, log, run,
};
use backcut_systems::{Stream, System};
use common::{PointMass, arm, go_on, run_config, valid};

fn train(config: &ValidRun, from: Option<&Checkpoint>, folder: &Folder, keep: Vec<u64>) {
    let options = RunOptions { save_every: 13, keep };
    let begin = Begin::Fresh;
    let system = PointMass::new();
    let layout = System::<f32>::program(&system).layout();
    let summary = run::run(
        &system,
        config,
        from.map(|from| from.branch(layout).unwrap()).as_ref(),
        folder,
        begin,
        &options,
        &mut go_on,
    )
    .unwrap();
    assert!(summary.is_finished);
}

#[test]
fn in_memory() {
    let system = PointMass::new();
    let mut straight = Trainer::<f32>::new(&system, arm(Cut::FF, 3)).unwrap();
    let straight_logs: Vec<_> = (0..50).map(|_| straight.step().unwrap()).collect();
    let mut warm = Trainer::<f32>::new(&system, arm(Cut::FF, 3)).unwrap();
    for _ in 0..40 {
        warm.step().unwrap();
    }
    let mut branch = Trainer::resume(&system, arm(Cut::FF, 3), warm.state()).unwrap();
    let branch_logs: Vec<_> = (0..10).map(|_| branch.step().unwrap()).collect();
    assert_eq!(branch_logs, straight_logs[40..]);
    assert_eq!(branch.state(), straight.state());
}

#[test]
fn through_files_and_other_arms_differ() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| Folder::new(root.path().join(name));
    train(&valid(Cut::FF, 3, 50), None, &folder("straight"), vec![40]);
    let warm = Checkpoint::load(&folder("straight").kept(40)).unwrap();
    let branch = |cut, stream, name: &str| {
        let evaluations = config::evaluation_points(40, 50, 20);
        let start = Some(warm.start());
        let config = RunConfig { start, stream, evaluations, ..run_config(cut, 3, 50) };
        train(&config.check().unwrap(), Some(&warm), &folder(name), vec![]);
        let layout = backcut_systems::System::<f32>::program(&PointMass::new()).layout().clone();
        let end = Checkpoint::load(&folder(name).checkpoint()).unwrap();
        let records = log::read(&folder(name).log()).unwrap();
        (end.state(&layout).unwrap(), records)
    };
    let layout = backcut_systems::System::<f32>::program(&PointMass::new()).layout().clone();
    let end = Checkpoint::load(&folder("straight").checkpoint()).unwrap();
    let straight: State<f32> = end.state(&layout).unwrap();
    let (same, records) = branch(Cut::FF, Stream::A, "same");
    assert_eq!(same, straight);
    let whole = log::read(&folder("straight").log()).unwrap();
    for (a, b) in records.iter().zip(&whole[40..]) {
        assert_eq!((a.update, a.evaluation), (b.update, b.evaluation));
    }
    assert_eq!(records.len(), 10);
    let (cut, _) = branch(Cut::F_SG, Stream::A, "cut");
    let (stream, records) = branch(Cut::FF, Stream::B, "stream");
    assert_ne!(cut.params, straight.params);
    assert_ne!(stream.params, straight.params);
    assert_ne!(records[0].update.loss, whole[40].update.loss);
    // Counters carry over: AdamW's bias correction goes on where it was.
    assert_eq!((cut.update, cut.moments.step), (50, 50));
}

#[test]
fn a_branch_from_another_checkpoint_than_configured_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| Folder::new(root.path().join(name));
    train(&valid(Cut::FF, 3, 20), None, &folder("a"), vec![]);
    train(&valid(Cut::FF, 4, 20), None, &folder("b"), vec![]);
    let load = |name: &str| Checkpoint::load(&folder(name).checkpoint()).unwrap();
    let start = Some(load("a").start());
    let config = RunConfig { start, evaluations: vec![30], ..run_config(Cut::FD, 3, 30) };
    let options = RunOptions::default();
    let system = PointMass::new();
    let layout = System::<f32>::program(&system).layout();
    let error = run::run(
        &system,
        &config.check().unwrap(),
        Some(&load("b").branch(layout).unwrap()),
        &folder("c"),
        Begin::Fresh,
        &options,
        &mut go_on,
    );
    assert!(matches!(error, Err(backcut_lab::training::RunError::WrongStart)));
}
