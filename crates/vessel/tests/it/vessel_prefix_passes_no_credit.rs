//! The observed prefix has a say in what is predicted, and receives no credit under any cut; key
//! points have a say and do receive it.

use crate::common::{key, model, rollout, small_vessel};
use backcut_engine::{Cut, Model, Rollout, Workspace};
use backcut_systems::{Stream, System};
use backcut_vessel::system::{Phase, Vessel};

const CUTS: [&str; 6] = ["FF", "FD", "F_SG", "KF", "KD", "K_SG"];
const OBSERVED: usize = 3;

fn filled(system: &Vessel) -> Rollout<f64> {
    let mut rollout = rollout::<f64>(system, system.spec());
    system.fill_batch(key(5, Stream::A, 1), &mut rollout).unwrap();
    rollout
}

fn loss(model: &Model<f64>, rollout: &mut Rollout<f64>) -> f64 {
    model.roll(rollout).unwrap()
}

/// The gradients of a layout's parameters whose names begin so, under each cut.
fn gradients(system: &Vessel, model: &Model<f64>, name: &str) -> Vec<Vec<f64>> {
    let mut rollout = filled(system);
    loss(model, &mut rollout);
    let cuts: Vec<Cut> = CUTS.iter().map(|name| name.parse().unwrap()).collect();
    let mut workspace = Workspace::new(&rollout, &cuts).unwrap();
    workspace.backward(model, &rollout).unwrap();
    let layout = System::<f64>::program(system).layout();
    let named: Vec<_> = layout.parameters().iter().filter(|p| p.name.starts_with(name)).collect();
    assert!(!named.is_empty());
    let of = |gradient: &[f64]| named.iter().flat_map(|p| &gradient[p.range()]).copied().collect();
    (0..CUTS.len()).map(|cut| of(workspace.gradient(cut))).collect()
}

/// The same model with one parameter moved.
fn moved(model: &Model<f64>, at: usize) -> Model<f64> {
    let mut values = model.values().to_vec();
    values[at] += 0.5;
    Model::new(model.program(), values).unwrap()
}

#[test]
fn a_prefix_state_changes_outputs() {
    let system = small_vessel(Phase::Rollout).check().unwrap();
    let model = model::<f64>(&system, 4.0);
    let usual = loss(&model, &mut filled(&system));
    for step in 0..OBSERVED - 1 {
        let mut rollout = filled(&system);
        rollout.fed_mut("action").unwrap()[step * 4] += 1.0;
        assert_ne!(loss(&model, &mut rollout), usual, "step {step}");
    }
}

/// Every step has a row of the position table to itself: rows of the prefix are read and not
/// credited.
#[test]
fn no_gradient_path_runs_through_it() {
    let system = small_vessel(Phase::Rollout).check().unwrap();
    let model = model::<f64>(&system, 4.0);
    let usual = loss(&model, &mut filled(&system));
    let layout = System::<f64>::program(&system).layout();
    let table = layout.parameters().iter().find(|p| p.name == "position").unwrap();
    for step in 0..OBSERVED {
        let other = moved(&model, table.range().start + step * table.cols);
        assert_ne!(loss(&other, &mut filled(&system)), usual, "step {step} is read");
    }
    for (cut, gradient) in CUTS.iter().zip(gradients(&system, &model, "position")) {
        let (prefix, rest) = gradient.split_at(OBSERVED * table.cols);
        assert!(prefix.iter().all(|g| *g == 0.0), "{cut}");
        for (step, row) in rest.chunks_exact(table.cols).enumerate() {
            assert!(row.iter().any(|g| *g != 0.0), "{cut}: predicted step {step}");
        }
    }
}

#[test]
fn key_points_are_credited_under_every_cut() {
    let system = small_vessel(Phase::Rollout).check().unwrap();
    let model = model::<f64>(&system, 4.0);
    for name in ["tokens.weight", "encoder0.set_k", "encoder1.feed1", "block1.cross_v"] {
        for (cut, gradient) in CUTS.iter().zip(gradients(&system, &model, name)) {
            assert!(gradient.iter().any(|g| *g != 0.0), "{cut}: {name}");
        }
    }
}
