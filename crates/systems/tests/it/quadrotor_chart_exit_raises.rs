//! Leaving the chart of Euler angles is an error that says who and when; nothing is clipped.

use crate::common::{key, rollout, small};
use backcut_engine::{Model, RollError, Rollout};
use backcut_systems::quadrotor::simulation::Vehicle;
use backcut_systems::quadrotor::{PITCH_LIMIT, Quadrotor, STATE, VelocityReading};
use backcut_systems::{Stream, System};

/// A policy whose every weight is zero commands no rates.
fn roll(system: &Quadrotor, rollout: &mut Rollout<f64>) -> Result<f64, RollError> {
    let program = System::<f64>::program(system);
    let values = vec![0.0; program.layout().len()];
    Model::new(program, values).unwrap().roll(rollout)
}

fn start(pitch: f64, pitch_rate: f64, row: usize) -> (Quadrotor, Rollout<f64>) {
    let system = small(VelocityReading::Hidden).check().unwrap();
    let mut rollout = rollout::<f64>(&system, system.spec());
    system.fill_batch(key(1, Stream::A, 0), &mut rollout).unwrap();
    let state = &mut rollout.initial_mut("state").unwrap()[row * STATE..][..STATE];
    state.fill(0.0);
    state[4] = pitch;
    state[10] = pitch_rate;
    (system, rollout)
}

#[test]
fn it_names_the_trajectory_and_the_step() {
    let (pitch, pitch_rate) = (1.2, 10.0);
    let mut vehicle = Vehicle::default();
    (vehicle.attitude[1], vehicle.rates[1]) = (pitch, pitch_rate);
    let mut step = 0;
    loop {
        vehicle = vehicle.after([0.5; 4]);
        if !vehicle.in_chart() {
            break;
        }
        step += 1;
        assert!(step < 12, "the vehicle stays in the chart: choose another start");
    }
    let (system, mut rollout) = start(pitch, pitch_rate, 2);
    let error = roll(&system, &mut rollout).unwrap_err();
    let RollError::OutOfBounds { name, row, step: at, value, limit } = error.clone() else {
        panic!("{error}");
    };
    assert_eq!((name.as_str(), row, at, limit), ("pitch", 2, step, PITCH_LIMIT));
    assert!((value - vehicle.attitude[1]).abs() < 1e-12);
    assert!(error.to_string().contains(&format!("trajectory 2, step {step}")), "{error}");
    assert_eq!(rollout.loss(), None, "a failed rollout has no loss");
}

#[test]
fn a_start_outside_is_found_even_if_the_first_step_returns() {
    let (system, mut rollout) = start(1.41, -4.0, 1);
    let error = roll(&system, &mut rollout).unwrap_err();
    assert!(system.states(&rollout)[STATE + 4].abs() < PITCH_LIMIT, "s_1 is inside");
    assert!(matches!(error, RollError::OutOfBounds { row: 1, step: 0, .. }), "{error}");
}

#[test]
fn just_inside_is_no_error() {
    let (system, mut rollout) = start(PITCH_LIMIT - 1e-9, 0.0, 0);
    roll(&system, &mut rollout).unwrap();
    let (system, mut rollout) = start(PITCH_LIMIT, 0.0, 0);
    roll(&system, &mut rollout).unwrap_err();
}
