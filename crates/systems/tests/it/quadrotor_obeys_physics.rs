//! Facts of mechanics that hold whatever the policy does.

use crate::common::{key, rollout, small, tap};
use backcut_engine::{Fed, ForwardSpec, Model};
use backcut_systems::quadrotor::simulation::{Matrix, Vehicle, transpose, turn, world_to_body};
use backcut_systems::quadrotor::{
    GRAVITY, InitialSpread, Quadrotor, STATE, THRUST_RANGE, VelocityReading,
};
use backcut_systems::{Stream, System};
use proptest::prelude::*;

fn vector(range: std::ops::Range<f64>) -> impl Strategy<Value = [f64; 3]> {
    [range.clone(), range.clone(), range]
}

/// Kinetic and potential energy per mass.
fn energy(position: &[f64], velocity: &[f64]) -> f64 {
    velocity.iter().map(|v| v * v / 2.0).sum::<f64>() + GRAVITY * position[2]
}

/// A policy whose every weight is zero: all actions are one half.
fn idle(system: &Quadrotor) -> Model<f64> {
    let program = System::<f64>::program(system);
    Model::new(program, vec![0.0; program.layout().len()]).unwrap()
}

#[test]
fn hover_is_a_fixed_point_of_the_traced_step() {
    let mut config = small(VelocityReading::Noise(0.0));
    let none = 0.0;
    config.spread = InitialSpread {
        position_m: none,
        attitude_rad: none,
        velocity_mps: none,
        rates_radps: none,
    };
    let system = config.check().unwrap();
    let mut rollout = rollout::<f64>(&system, system.spec());
    system.fill_batch(key(1, Stream::A, 0), &mut rollout).unwrap();
    // Anywhere and at any heading.
    rollout.initial_mut("state").unwrap()[STATE..][..6]
        .copy_from_slice(&[1.0, -2.0, 3.0, 0.0, 0.0, 2.5]);
    let start = rollout.initial_mut("state").unwrap().to_vec();
    idle(&system).roll(&mut rollout).unwrap();
    for states in system.states(&rollout).chunks_exact(start.len()) {
        for (now, then) in states.iter().zip(&start) {
            assert!((now - then).abs() < 1e-14, "{now} and {then}");
        }
    }
}

#[test]
fn free_fall_keeps_its_energy_in_the_traced_step() {
    let config = small(VelocityReading::Noise(0.0));
    let (rows, steps) = (config.batch, config.policy.steps);
    let system = config.check().unwrap();
    // No action of the policy reaches zero thrust; one fed from outside does.
    let none = 0.5 - GRAVITY / THRUST_RANGE;
    let fall = Fed { site: "action".into(), steps: 0..steps };
    let spec = ForwardSpec { fed: vec![fall], ..system.spec() };
    let mut rollout = rollout::<f64>(&system, spec);
    let values = [none, 0.9, 0.2, 0.7].repeat(rows * steps);
    rollout.fed_mut("action").unwrap().copy_from_slice(&values);
    system.fill_batch(key(1, Stream::A, 0), &mut rollout).unwrap();
    idle(&system).roll(&mut rollout).unwrap();
    let before = tap(&rollout, "state").chunks_exact(STATE);
    let after = system.states(&rollout).chunks_exact(STATE);
    for (s, next) in before.zip(after) {
        let (e0, e1) = (energy(&s[..3], &s[6..9]), energy(&next[..3], &next[6..9]));
        assert!((e1 - e0).abs() < 1e-12 * (1.0 + e0.abs()), "{e0} became {e1}");
    }
}

/// Body to world after turning with constant body rates `w` for `time`, by a unit quaternion.
fn turned(attitude: [f64; 3], w: [f64; 3], time: f64) -> Matrix {
    let product = |[a, b, c, d]: [f64; 4], [e, f, g, h]: [f64; 4]| {
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    };
    let about = |axis: usize, angle: f64| {
        let mut q = [(angle / 2.0).cos(), 0.0, 0.0, 0.0];
        q[1 + axis] = (angle / 2.0).sin();
        q
    };
    let [roll, pitch, yaw] = attitude;
    let mut q = product(about(2, yaw), product(about(1, pitch), about(0, roll)));
    // Midpoint steps of dq/dt = q w / 2, far finer than the dynamics'.
    let steps = 20_000;
    let rate = |q: [f64; 4]| product(q, [0.0, w[0] / 2.0, w[1] / 2.0, w[2] / 2.0]);
    let h = time / f64::from(steps);
    for _ in 0..steps {
        let k = rate(q);
        let k = rate(std::array::from_fn(|i| q[i] + h / 2.0 * k[i]));
        q = std::array::from_fn(|i| q[i] + h * k[i]);
    }
    let [a, b, c, d] = q;
    [
        [1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
        [2.0 * (b * c + a * d), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - a * b)],
        [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), 1.0 - 2.0 * (b * b + c * c)],
    ]
}

fn distance(a: Matrix, b: Matrix) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn attitude_kinematics_converge_to_the_quaternion() {
    let cases = [
        ([0.3, -0.2, 1.0], [0.7, -0.4, 0.5]),
        ([-0.5, 0.6, -2.0], [-0.3, 0.4, 0.9]),
        ([0.0, 0.0, 0.0], [0.4, 0.5, -0.6]),
    ];
    let time = 1.0;
    for (attitude, rates) in cases {
        let exact = turned(attitude, rates, time);
        let error = |steps: u32| {
            let mut vehicle = Vehicle { attitude, rates, ..Vehicle::default() };
            for _ in 0..steps {
                // The command equals the rates: they stay constant.
                vehicle = vehicle.moved(0.0, rates, time / f64::from(steps));
            }
            distance(transpose(world_to_body(vehicle.attitude)), exact)
        };
        let (coarse, fine) = (error(500), error(1000));
        assert!(fine < 1e-3, "{fine}");
        // First order: half the step, half the error.
        assert!((coarse / fine - 2.0).abs() < 0.05, "{coarse} / {fine}");
    }
}

proptest! {
    #[test]
    fn hover_is_a_fixed_point_everywhere(position in vector(-5.0..5.0), yaw in -3.0..3.0) {
        let hover = Vehicle { position, attitude: [0.0, 0.0, yaw], ..Vehicle::default() };
        let next = hover.after([0.5; 4]);
        for (now, then) in next.to_state().iter().zip(hover.to_state()) {
            prop_assert!((now - then).abs() < 1e-14);
        }
    }

    #[test]
    fn free_fall_keeps_its_energy(
        position in vector(-5.0..5.0),
        attitude in vector(-1.0..1.0),
        velocity in vector(-3.0..3.0),
        rates in vector(-1.0..1.0),
    ) {
        let mut vehicle = Vehicle { position, attitude, velocity, rates };
        let start = energy(&position, &velocity);
        for _ in 0..32 {
            vehicle = vehicle.moved(0.0, [0.1, -0.1, 0.2], 0.05);
        }
        let end = energy(&vehicle.position, &vehicle.velocity);
        prop_assert!((end - start).abs() < 1e-10 * (1.0 + start.abs()), "{} became {}", start, end);
    }

    #[test]
    fn rotations_keep_lengths_and_undo(attitude in vector(-1.3..1.3), v in vector(-2.0..2.0)) {
        let m = world_to_body(attitude);
        let back = turn(transpose(m), turn(m, v));
        for i in 0..3 {
            prop_assert!((back[i] - v[i]).abs() < 1e-13);
        }
    }
}
