//! The traced step and the plain simulation are two writings of the same task.

use crate::common::{key, model, rollout, small, tap};

use backcut_systems::quadrotor::simulation::{Point, Vehicle, loss, token};
use backcut_systems::quadrotor::{Batch, HORIZON, STATE, TOKEN, VelocityReading};
use backcut_systems::{Stream, System};

fn three(values: &[f64], at: usize) -> [f64; 3] {
    std::array::from_fn(|i| values[3 * at + i])
}

fn point(batch: &Batch, row: usize, time: usize) -> Point {
    let at = row * (batch.steps + HORIZON + 1) + time;
    Point {
        position: three(&batch.reference_position, at),
        velocity: three(&batch.reference_velocity, at),
    }
}

#[track_caller]
fn close(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= 1e-12 * (1.0 + w.abs()), "{what}, column {i}: {g} and {w}");
    }
}

fn compare(velocity: VelocityReading) {
    let system = small(velocity).check().unwrap();
    let key = key(5, Stream::A, 3);
    let batch = system.batch(key);
    let mut rollout = rollout::<f64>(&system, system.spec());
    system.fill_batch(key, &mut rollout).unwrap();
    let model = model::<f64>(&system, 2.0);
    model.roll(&mut rollout).unwrap();

    let rows = batch.rows;
    let mut spread_of_actions = 0.0_f64;
    let mut errors = vec![0.0; rows];
    system.row_errors(&rollout, &mut errors);
    for (row, &error) in errors.iter().enumerate() {
        let mut vehicle = Vehicle::from_state(&batch.initial_state[row * STATE..]);
        let (mut total, mut squared) = (0.0, 0.0);
        for t in 0..batch.steps {
            let at = t * rows + row;
            let ahead = std::array::from_fn(|k| point(&batch, row, t + 1 + k));
            let noise = three(&batch.noise, row * batch.steps + t);
            let seen = token(&vehicle, velocity, noise, &ahead);
            close("token", &tap(&rollout, "token")[at * TOKEN..][..TOKEN], &seen);
            close("velocity", &tap(&rollout, "true_velocity")[at * 3..][..3], &vehicle.velocity);

            let action = std::array::from_fn(|i| tap(&rollout, "action")[at * 4 + i]);
            spread_of_actions = spread_of_actions.max((action[0] - 0.5).abs());
            vehicle = vehicle.after(action);
            close("state", &system.states(&rollout)[at * STATE..][..STATE], &vehicle.to_state());

            total += loss(&vehicle, &ahead[0], action);
            let off = |i: usize| (vehicle.position[i] - ahead[0].position[i]).powi(2);
            squared += off(0) + off(1) + off(2);
        }
        close("loss", &rollout.row_loss().unwrap()[row..=row], &[total]);
        close("error", &[error], &[squared / batch.steps as f64]);
    }
    assert!(spread_of_actions > 0.05, "the policy hardly acts: the comparison says little");
}

#[test]
fn with_an_exact_reading() {
    compare(VelocityReading::Noise(0.0));
}

#[test]
fn with_a_noisy_reading() {
    compare(VelocityReading::Noise(0.2));
}

#[test]
fn with_hidden_velocity() {
    compare(VelocityReading::Hidden);
}

#[test]
fn single_precision_stays_near_double() {
    let system = small(VelocityReading::Noise(0.2)).check().unwrap();
    let key = key(5, Stream::A, 3);
    let mut wide = rollout::<f64>(&system, system.spec());
    let mut narrow = rollout::<f32>(&system, system.spec());
    system.fill_batch(key, &mut wide).unwrap();
    system.fill_batch(key, &mut narrow).unwrap();
    model::<f64>(&system, 2.0).roll(&mut wide).unwrap();
    model::<f32>(&system, 2.0).roll(&mut narrow).unwrap();
    for (w, n) in system.states(&wide).iter().zip(system.states(&narrow)) {
        assert!((w - f64::from(*n)).abs() < 2e-5 * (1.0 + w.abs()), "{w} and {n}");
    }
}
