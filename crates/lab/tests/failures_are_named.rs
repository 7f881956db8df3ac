//! A run that diverges stops with the place where it went wrong, and leaves the state as it was.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_engine::{BackwardError, Cut, Phase, RollError};
use backcut_lab::training::{TrainError, Trainer};
use common::{PointMass, STEPS, arm};

#[test]
fn leaving_the_bound_names_trajectory_and_step() {
    let system = PointMass::with_gain(1e6);
    let mut trainer = Trainer::<f32>::new(&system, arm(Cut::FF, 1)).unwrap();
    let before = trainer.state();
    let error = trainer.step().unwrap_err();
    assert!(
        matches!(error, TrainError::Roll { update: 1, source: RollError::OutOfBounds { .. } }),
        "{error}"
    );
    let text = error.to_string();
    assert!(text.contains("trajectory") && text.contains("step"), "{text}");
    assert_eq!(trainer.state(), before);
}

#[test]
fn a_panel_failure_names_the_panels_own_trajectory() {
    let system = PointMass::with_gain(1e6);
    let mut trainer = Trainer::<f32>::new(&system, arm(Cut::FF, 1)).unwrap();
    let error = trainer.evaluate().unwrap_err();
    assert!(matches!(error, TrainError::Panel { .. }), "{error}");
}

#[test]
fn a_gradient_that_overflows_names_instruction_step_and_row() {
    // Every value stays finite while the head's weights make its input adjoints overflow.
    let system = PointMass::new();
    let mut state = Trainer::<f32>::new(&system, arm(Cut::FF, 1)).unwrap().state();
    let layout = backcut_systems::System::<f32>::program(&system).layout().clone();
    let head = &layout.parameters()[layout.find("head.weight").unwrap()];
    let norm =
        &layout.parameters()[layout.find("norm.weight").or(layout.find("norm.gain")).unwrap()];
    state.params[norm.range()].fill(1e-38);
    state.params[head.range()].fill(3e38);
    let mut trainer = Trainer::resume(&system, arm(Cut::FF, 1), state.clone()).unwrap();
    let error = trainer.step().unwrap_err();
    let TrainError::Backward { update: 1, source: BackwardError::NonFinite(fault) } = &error else {
        panic!("{error}");
    };
    assert_eq!(fault.phase, Phase::Backward);
    assert!(fault.step < STEPS && fault.row < 4 && !fault.instruction.is_empty(), "{error}");
    println!("{error}");
    assert_eq!(trainer.state(), state);
}
