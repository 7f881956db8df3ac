//! A vessel's run that stops and goes on ends with the bits of one that did not, in either phase,
//! whatever runs beside it.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use backcut_engine::Cut;
use backcut_kernels::NUMERICS_VERSION;
use backcut_lab::training::{
    Precision, RunConfig, Snapshot, SystemChoice, Trainer, Training, ValidRun, config,
};
use backcut_systems::{Settings as _, Stream};
use backcut_vessel::system::{Data, Fleet, Phase, Preset, Sizes, VesselConfig};

fn vessel(phase: Phase) -> VesselConfig {
    let sizes = Sizes { width: 8, heads: 2, observed: 4, predicted: 8, key_points: 4 };
    let data = Data::Fleet(Fleet { ships: 6, days: 6, seed: 1 });
    VesselConfig { preset: Preset::Sizes(sizes), phase, data, noise: 0.1, ..Default::default() }
}

fn run(vessel: &VesselConfig, cut: Cut) -> ValidRun {
    let settings = serde_json::to_value(vessel).unwrap();
    let config = RunConfig {
        system: SystemChoice { name: "vessel".into(), settings, data: None, program: None },
        cut,
        seed: 3,
        stream: Stream::A,
        start: None,
        updates: 6,
        evaluations: config::evaluation_points(0, 6, 3),
        optimizer: vessel.optimizer(),
        precision: Precision::F32,
        numerics: NUMERICS_VERSION,
    };
    config.check().unwrap()
}

/// The hash of each update and the panel's means, stopping after every `stop` updates.
fn trained(phase: Phase, cut: Cut, stop: usize) -> (Vec<u64>, Vec<f64>) {
    let config = vessel(phase);
    let run = run(&config, cut);
    let system = config.check().unwrap();
    let arm = run.arm();
    let first = Trainer::<f32>::new(&system, arm.clone()).unwrap().state();
    let mut snapshot = Snapshot::beginning(first);
    loop {
        let mut training = Training::resume(&system, &run, snapshot).unwrap();
        for completed in training.by_ref().take(stop) {
            completed.unwrap();
        }
        if training.is_finished() {
            let hashes = training.records().iter().map(|r| r.update.hash).collect();
            return (hashes, training.panels().iter().map(|(_, panel)| panel.mean).collect());
        }
        snapshot = training.snapshot();
    }
}

#[test]
fn stops_and_threads_change_no_bit() {
    for (phase, cut) in [(Phase::Pretrain, Cut::FF), (Phase::Rollout, Cut::F_SG)] {
        let whole = trained(phase, cut, usize::MAX);
        assert_eq!(whole.0.len(), 6);
        assert_eq!(trained(phase, cut, 1), whole);
        std::thread::scope(|scope| {
            let others: Vec<_> = (0..3).map(|_| scope.spawn(|| trained(phase, cut, 4))).collect();
            for other in others {
                assert_eq!(other.join().unwrap(), whole);
            }
        });
    }
}
