//! A policy that changes nothing sails on at the last observed velocity: its panel errors are those
//! of constant velocity, computed apart in double precision.

use crate::common::{model, small_vessel};
use backcut_engine::{Model, Rollout};
use backcut_systems::System;
use backcut_vessel::system::{Phase, Preset, Sizes, VesselConfig};

fn compare(phase: Phase) {
    let preset =
        Preset::Sizes(Sizes { width: 8, heads: 2, observed: 16, predicted: 96, key_points: 16 });
    let config = VesselConfig { preset, noise: 0.0, ..small_vessel(phase) };
    let system = config.check().unwrap();
    let program = System::<f32>::program(&system);
    let mut values = model::<f32>(&system, 1.0).values().to_vec();
    for parameter in program.layout().parameters() {
        if parameter.name.starts_with("head.") {
            values[parameter.range()].fill(0.0);
        }
    }
    let model = Model::new(program, values).unwrap();
    let want = system.constant_velocity().unwrap();
    let rows = System::<f32>::panel_rows(&system);
    assert!(rows >= 4 && want.len() == rows);
    let (steps, spec) = (System::<f32>::steps(&system), System::<f32>::spec(&system));
    let mut rollout = Rollout::new(program, rows, steps, spec).unwrap();
    system.fill_panel(0, &mut rollout).unwrap();
    model.roll(&mut rollout).unwrap();
    let mut errors = vec![0.0; rows];
    system.row_errors(&rollout, &mut errors);
    assert_eq!(system.safeguarded(&rollout), 0);
    for (row, (error, want)) in errors.iter().zip(&want).enumerate() {
        assert!((error / want - 1.0).abs() < 1e-4, "window {row}: {error}, not {want}");
    }
    assert!(want.iter().sum::<f64>() > 0.1);
}

#[test]
fn in_rollouts() {
    compare(Phase::Rollout);
}

#[test]
fn under_teacher_forcing() {
    compare(Phase::Pretrain);
}
