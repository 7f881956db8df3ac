//! On a small instance of the real program, the engine's gradient under every kind of cut is the
//! scalar oracle's.

use std::num::NonZeroUsize;

use crate::common::{key, model, rollout, small, tap};
use backcut_engine::{Cut, Rollout, Workspace};
use backcut_oracle::{OracleInputs, OracleSpec, interpret};
use backcut_systems::policy::Mixer;
use backcut_systems::policy::{Embedding, PositionStart};
use backcut_systems::quadrotor::{InitialVelocity, QuadrotorConfig, STATE, VelocityReading};
use backcut_systems::{Stream, System};

const CUTS: [&str; 14] = [
    "FF", "FD", "F_SG", "KF", "KD", "K_SG", "SEG-1", "SEG-2", "SEG-4", "K_SEG-2", "K2F", "K2_SG",
    "K3D", "F_A0.5",
];

/// Few steps and rows, wide offsets: every cut removes something that matters.
fn tiny(velocity: VelocityReading) -> QuadrotorConfig {
    let mut config = QuadrotorConfig { batch: 2, ..small(velocity) };
    config.policy.steps = 5;
    config
}

/// The inputs of a filled rollout as the oracle takes them.
fn inputs(rollout: &mut Rollout<f64>) -> OracleInputs {
    let (rows, steps) = (rollout.rows(), rollout.steps());
    let program = rollout.program().clone();
    let nested = |values: &[f64], width: usize| -> Vec<Vec<Vec<f64>>> {
        assert_eq!(values.len(), steps * rows * width);
        let step = |s: &[f64]| s.chunks_exact(width).map(<[f64]>::to_vec).collect();
        values.chunks_exact(rows * width).map(step).collect()
    };
    let start = rollout.initial_mut("state").unwrap();
    let states = vec![start.chunks_exact(STATE).map(<[f64]>::to_vec).collect()];
    let registers = program.registers().iter();
    OracleInputs {
        registers: registers.map(|r| vec![vec![0.0; r.width]; rows]).collect(),
        inputs: program.inputs().map(|(name, width)| nested(tap(rollout, name), width)).collect(),
        states,
        ..OracleInputs::default()
    }
}

fn norm(x: impl Iterator<Item = f64>) -> f64 {
    x.map(|x| x * x).sum::<f64>().sqrt()
}

fn compare(config: QuadrotorConfig) {
    let window = config.window.map(NonZeroUsize::get);
    let mixer = config.policy.mixer;
    let is_attention = mixer == Mixer::Attention;
    let system = config.check().unwrap();
    let model = model::<f64>(&system, 2.0);
    let mut rollout = rollout::<f64>(&system, system.spec());
    system.fill_batch(key(3, Stream::A, 0), &mut rollout).unwrap();
    let inputs = inputs(&mut rollout);
    let spec = OracleSpec {
        rows: rollout.rows(),
        steps: rollout.steps(),
        window,
        ..OracleSpec::default()
    };

    let loss = model.roll(&mut rollout).unwrap();
    let cuts: Vec<Cut> = CUTS.iter().map(|name| name.parse().unwrap()).collect();
    let mut workspace = Workspace::new(&rollout, &cuts).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    for (i, &cut) in cuts.iter().enumerate() {
        let program = System::<f64>::program(&system);
        let oracle = interpret(program, model.values(), &inputs, &spec, cut).unwrap();
        assert!((loss - oracle.loss).abs() < 1e-11 * oracle.loss, "{loss} and {}", oracle.loss);
        let found = workspace.gradient(i);
        let difference = norm(found.iter().zip(&oracle.gradient).map(|(a, b)| a - b));
        let error = difference / norm(oracle.gradient.iter().copied());
        assert!(error < 1e-10, "{cut}: {error:.1e}");
    }
    let has_caches = is_attention && window != Some(1);
    if !is_attention {
        // What `FD` and `F_SG` do to a register depends on who reads it; both stop what `FF` passes
        // on.
        assert_ne!(workspace.gradient(0), workspace.gradient(2), "{mixer}");
    }
    if has_caches {
        // The cuts of the paper are six different gradients here: agreement is no accident.
        for (i, a) in CUTS[..6].iter().enumerate() {
            for (j, b) in CUTS[..i].iter().enumerate() {
                assert_ne!(workspace.gradient(i), workspace.gradient(j), "{a} and {b}");
            }
        }
    }
}

#[test]
fn with_a_noisy_reading() {
    compare(tiny(VelocityReading::Noise(0.2)));
}

#[test]
fn with_hidden_velocity() {
    compare(tiny(VelocityReading::Hidden));
}

#[test]
fn with_policies_that_remember_by_a_recurrence() {
    for mixer in [Mixer::Gru, Mixer::Lstm, Mixer::Ssm] {
        let mut config = tiny(VelocityReading::Noise(0.2));
        config.policy.mixer = mixer;
        compare(config);
    }
}

#[test]
fn with_every_way_into_the_policy() {
    for embedding in [Embedding::Normalised, Embedding::Scaled, Embedding::Apg] {
        let mut config = tiny(VelocityReading::Noise(0.2));
        config.policy.embedding = embedding;
        config.policy.positions = Some(7);
        config.policy.position_start = PositionStart::Unit;
        config.initial_velocity = InitialVelocity::Reference;
        compare(config);
    }
}

#[test]
fn without_a_bias_of_keys() {
    let mut config = tiny(VelocityReading::Hidden);
    config.policy.key_bias = false;
    compare(config);
}

#[test]
fn without_memory_there_is_nothing_to_cut() {
    let mut config = tiny(VelocityReading::Hidden);
    config.policy.mixer = Mixer::None;
    let system = config.check().unwrap();
    let rollout = rollout::<f64>(&system, system.spec());
    assert!(Workspace::new(&rollout, &[Cut::FF, Cut::KF]).is_ok());
    let error = Workspace::new(&rollout, &[Cut::FD]).unwrap_err();
    assert!(error.to_string().contains("FD"), "{error}");
}

#[test]
fn with_windows() {
    for window in [1, 2] {
        let window = NonZeroUsize::new(window);
        compare(QuadrotorConfig { window, ..tiny(VelocityReading::Noise(0.2)) });
    }
}
