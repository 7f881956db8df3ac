//! Every velocity entry of the token comes from one reading; hidden velocity leaves none.

use crate::common::{key, model, rollout, small, tap};
use backcut_engine::Rollout;
use backcut_systems::quadrotor::simulation::{turn, world_to_body};
use backcut_systems::quadrotor::{POINT, STATE, TOKEN, VelocityReading};
use backcut_systems::{Stream, System};

fn rolled(velocity: VelocityReading) -> Rollout<f64> {
    let system = small(velocity).check().unwrap();
    let mut rollout = rollout::<f64>(&system, system.spec());
    system.fill_batch(key(2, Stream::A, 1), &mut rollout).unwrap();
    model::<f64>(&system, 1.0).roll(&mut rollout).unwrap();
    rollout
}

/// The 36 entries that depend on velocity.
fn velocity_entries() -> Vec<usize> {
    let ahead = (0..10).flat_map(|k| (0..3).map(move |i| 15 + k * POINT + 6 + i));
    (0..3).chain(9..12).chain(ahead).collect()
}

#[test]
fn hidden_velocity_leaves_zeros_in_36_entries_and_nowhere_else() {
    let rollout = rolled(VelocityReading::Hidden);
    let entries = velocity_entries();
    assert_eq!(entries.len(), 36);
    for token in tap(&rollout, "token").chunks_exact(TOKEN) {
        for (i, x) in token.iter().enumerate() {
            assert_eq!(*x == 0.0, entries.contains(&i), "entry {i} is {x}");
        }
    }
}

#[test]
fn all_entries_use_the_same_noisy_reading() {
    let sigma = 0.2;
    let rollout = rolled(VelocityReading::Noise(sigma));
    let tokens = tap(&rollout, "token").chunks_exact(TOKEN);
    let states = tap(&rollout, "state").chunks_exact(STATE);
    let noise = tap(&rollout, "noise").chunks_exact(3);
    let mut largest = 0.0_f64;
    for ((token, state), noise) in tokens.zip(states).zip(noise) {
        let reading: [f64; 3] = std::array::from_fn(|i| token[i]);
        let body = turn(world_to_body([state[3], state[4], state[5]]), reading);
        for i in 0..3 {
            assert!((reading[i] - (state[6 + i] + sigma * noise[i])).abs() < 1e-14);
            largest = largest.max((reading[i] - state[6 + i]).abs());
            assert!((token[9 + i] - body[i]).abs() < 1e-14);
            for point in token[15..].chunks_exact(POINT) {
                assert!((point[3 + i] - point[6 + i] - reading[i]).abs() < 1e-14);
            }
        }
    }
    assert!(largest > sigma, "the noise is missing: largest {largest}");
}

#[test]
fn zero_noise_reads_the_velocity_itself() {
    let rollout = rolled(VelocityReading::Noise(0.0));
    let tokens = tap(&rollout, "token").chunks_exact(TOKEN);
    for (token, velocity) in tokens.zip(tap(&rollout, "true_velocity").chunks_exact(3)) {
        assert_eq!(&token[..3], velocity);
    }
}
