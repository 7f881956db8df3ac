//! Who shares which random numbers: arms and conditions do, seeds, updates, rows and streams do
//! not.

use std::num::NonZeroUsize;

use crate::common::{key, rollout, small, tap};
use backcut_engine::Rollout;
use backcut_systems::quadrotor::{
    HORIZON, PANEL_ROWS, POINT, Quadrotor, QuadrotorConfig, STATE, VelocityReading,
};
use backcut_systems::{BatchKey, Stream, System};

fn exact() -> QuadrotorConfig {
    small(VelocityReading::Noise(0.0))
}

fn filled(system: &Quadrotor, key: BatchKey) -> Rollout<f32> {
    let mut rollout = rollout::<f32>(system, system.spec());
    system.fill_batch(key, &mut rollout).unwrap();
    rollout
}

/// Everything a condition shares with the others: start, noise, reference positions and velocities.
fn base(rollout: &mut Rollout<f32>) -> Vec<f32> {
    let mut numbers = rollout.initial_mut("state").unwrap().to_vec();
    numbers.extend(tap(rollout, "noise"));
    numbers.extend(tap(rollout, "target"));
    for point in tap(rollout, "reference").chunks_exact(POINT) {
        numbers.extend(&point[..6]);
    }
    numbers
}

#[test]
fn arms_and_conditions_share_trajectories_and_standardised_noise() {
    let key = key(7, Stream::A, 41);
    let common = base(&mut filled(&exact().check().unwrap(), key));
    let window = |w| QuadrotorConfig { window: NonZeroUsize::new(w), ..exact() };
    let arms = [
        small(VelocityReading::Noise(0.05)),
        small(VelocityReading::Noise(0.3)),
        small(VelocityReading::Hidden),
        window(1),
        window(2),
    ];
    for arm in arms {
        let system = arm.clone().check().unwrap();
        assert_eq!(base(&mut filled(&system, key)), common, "{arm:?}");
        let layout = |s: &Quadrotor| System::<f32>::program(s).layout().initialise::<f32>(7);
        assert_eq!(layout(&system), layout(&exact().check().unwrap()), "{arm:?}");
    }
}

#[test]
fn the_same_key_gives_the_same_batch_and_any_other_differs_everywhere() {
    let system = exact().check().unwrap();
    let first = system.batch(key(7, Stream::A, 41));
    assert_eq!(first, system.batch(key(7, Stream::A, 41)));
    for other in [key(8, Stream::A, 41), key(7, Stream::A, 42), key(7, Stream::B, 41)] {
        let other = system.batch(other);
        let differ = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a != b);
        assert!(differ(&first.initial_state, &other.initial_state));
        assert!(differ(&first.noise, &other.noise));
        assert!(differ(&first.reference_velocity, &other.reference_velocity));
    }
}

#[test]
fn stream_b_is_the_same_sampler_at_seeds_plus_a_billion() {
    let system = exact().check().unwrap();
    let b = system.batch(key(7, Stream::B, 3));
    assert_eq!(b, system.batch(key(1_000_000_007, Stream::A, 3)));
}

#[test]
fn rows_of_a_batch_differ() {
    let batch = exact().check().unwrap().batch(key(7, Stream::A, 0));
    let rows = batch.initial_state.chunks_exact(STATE).zip(batch.noise.chunks_exact(36));
    let rows: Vec<_> = rows.collect();
    assert!(rows[0].0[0] != rows[1].0[0] && rows[0].1[0] != rows[1].1[0]);
    assert!(rows[1].0[0] != rows[2].0[0] && rows[1].1[0] != rows[2].1[0]);
}

#[test]
fn the_numbers_to_export_are_the_numbers_rolled() {
    let system = exact().check().unwrap();
    let key = key(9, Stream::A, 5);
    let batch = system.batch(key);
    let mut rollout = rollout::<f64>(&system, system.spec());
    system.fill_batch(key, &mut rollout).unwrap();
    assert_eq!(rollout.initial_mut("state").unwrap(), &batch.initial_state[..]);
    let (rows, times) = (batch.rows, batch.steps + HORIZON + 1);
    for t in 0..batch.steps {
        for row in 0..rows {
            let noise = &tap(&rollout, "noise")[(t * rows + row) * 3..][..3];
            assert_eq!(noise, &batch.noise[(row * batch.steps + t) * 3..][..3]);
            let seen = &tap(&rollout, "reference")[(t * rows + row) * HORIZON * POINT..];
            for (k, point) in seen.chunks_exact(POINT).take(HORIZON).enumerate() {
                let at = (row * times + t + 1 + k) * 3;
                assert_eq!(point[..3], batch.reference_position[at..][..3]);
                assert_eq!(point[3..6], batch.reference_velocity[at..][..3]);
                assert_eq!(point[6..], batch.reference_velocity[at..][..3]);
            }
        }
    }
}

#[test]
fn the_panel_is_one_for_all_and_does_not_depend_on_how_it_is_cut() {
    let system = exact().check().unwrap();
    let whole = system.panel(0, PANEL_ROWS);
    assert_eq!(whole.rows, PANEL_ROWS);
    for other in [small(VelocityReading::Hidden), QuadrotorConfig { batch: 5, ..exact() }] {
        assert_eq!(other.check().unwrap().panel(0, PANEL_ROWS), whole);
    }
    // Filled in threes, after batches of several seeds: the same rows.
    let mut rollout = rollout::<f64>(&system, system.spec());
    for first in [0, 3, 252] {
        system.fill_batch(key(first as u64, Stream::A, 0), &mut rollout).unwrap();
        system.fill_panel(first, &mut rollout).unwrap();
        let start = rollout.initial_mut("state").unwrap();
        assert_eq!(start, &whole.initial_state[first * STATE..][..3 * STATE]);
    }
    let mut first_numbers: Vec<u64> =
        whole.noise.chunks_exact(whole.steps * 3).map(|row| row[0].to_bits()).collect();
    first_numbers.sort_unstable();
    first_numbers.dedup();
    assert_eq!(first_numbers.len(), PANEL_ROWS, "rows repeat");
}

#[test]
fn a_shorter_rollout_sees_the_beginning_of_the_longer() {
    let short = exact();
    let mut long = exact();
    long.policy.steps = 20;
    let key = key(3, Stream::A, 2);
    let (short, long) = (short.check().unwrap().batch(key), long.check().unwrap().batch(key));
    assert_eq!(short.initial_state, long.initial_state);
    assert_eq!(short.noise[..36], long.noise[..36]);
    assert_eq!(short.reference_position[..69], long.reference_position[..69]);
}
