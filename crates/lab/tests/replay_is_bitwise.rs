//! Restoring the state at update u and redoing update u + 1 gives the recorded bits.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_engine::Cut;
use backcut_lab::training::{Begin, Checkpoint, Folder, RunOptions, Trainer, log, run};
use common::{PointMass, go_on, valid};

#[test]
fn every_update_of_a_run_can_be_redone() {
    let (system, root) = (PointMass::new(), tempfile::tempdir().unwrap());
    let folder = Folder::new(root.path().join("run"));
    for cut in [Cut::FF, Cut::F_SG] {
        let config = valid(cut, 11, 25);
        let folder = Folder::new(folder.path().join(cut.to_string()));
        let options = RunOptions { save_every: 100, keep: (1..25).collect() };
        run::run(&system, &config, None, &folder, Begin::Fresh, &options, &mut go_on).unwrap();
        let records = log::read(&folder.log()).unwrap();
        let layout = backcut_systems::System::<f32>::program(&system).layout();
        for update in 1..25 {
            let checkpoint = Checkpoint::load(&folder.kept(update)).unwrap();
            let state = checkpoint.state(layout).unwrap();
            assert_eq!(state.hash(), records[update as usize - 1].update.hash);
            let mut trainer = Trainer::resume(&system, config.arm(), state).unwrap();
            assert_eq!(trainer.step().unwrap(), records[update as usize].update, "{cut} {update}");
        }
    }
}

#[test]
fn a_replay_from_the_wrong_state_does_not_match() {
    let system = PointMass::new();
    let mut trainer = Trainer::<f32>::new(&system, common::arm(Cut::FF, 11)).unwrap();
    for _ in 0..5 {
        trainer.step().unwrap();
    }
    let good = trainer.state();
    let truth = trainer.step().unwrap().hash;
    let redo = |state| {
        let arm = common::arm(Cut::FF, 11);
        Trainer::resume(&system, arm, state).unwrap().step().unwrap().hash
    };
    assert_eq!(redo(good.clone()), truth);
    let mut moment = good.clone();
    moment.moments.second[3] *= 1.0 + 2.0 * f32::EPSILON;
    let mut counter = good.clone();
    counter.moments.step += 1;
    let mut batch = good.clone();
    batch.update += 1;
    for (what, state) in [("moment", moment), ("AdamW step", counter), ("batch", batch)] {
        assert_ne!(redo(state), truth, "{what} is part of the state");
    }
}
