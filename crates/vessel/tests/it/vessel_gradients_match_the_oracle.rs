//! On a small instance of the real program, in both phases, the engine's gradient under every kind
//! of cut is the scalar oracle's.

use crate::common::{key, model, rollout, small_vessel, tap};
use backcut_engine::{Cut, Rollout, Workspace};
use backcut_oracle::{FixedValues, OracleInputs, OracleSpec, interpret};
use backcut_systems::policy::Mixer;
use backcut_systems::{Stream, System};
use backcut_vessel::system::{Output, Phase, STATE, VesselConfig};

const CUTS: [&str; 11] =
    ["FF", "FD", "F_SG", "KF", "KD", "K_SG", "SEG-2", "K_SEG-2", "K2F", "K3D", "F_A0.5"];

type Table = Vec<Vec<Vec<f64>>>;

fn nested(values: &[f64], rows: usize, width: usize) -> Table {
    let step = |s: &[f64]| s.chunks_exact(width).map(<[f64]>::to_vec).collect();
    values.chunks_exact(rows * width).map(step).collect()
}

/// A filled rollout as the oracle takes it.
fn told(rollout: &mut Rollout<f64>) -> (OracleInputs, OracleSpec) {
    let (rows, steps) = (rollout.rows(), rollout.steps());
    let program = rollout.program().clone();
    let tokens = program.tokens();
    let condition = (program
        .condition_inputs()
        .map(|(name, width)| nested(rollout.condition_input_mut(name).unwrap(), tokens, width)))
    .collect();
    let states = vec![
        rollout.initial_mut("state").unwrap().chunks_exact(STATE).map(<[f64]>::to_vec).collect(),
    ];
    let inputs = program.inputs().map(|(name, width)| nested(tap(rollout, name), rows, width));
    let inputs =
        OracleInputs { inputs: inputs.collect(), condition, states, ..OracleInputs::default() };
    let registers = program.registers().iter();
    let registers = registers.map(|r| vec![vec![0.0; r.width]; rows]).collect();
    let inputs = OracleInputs { registers, ..inputs };
    let fed: Vec<String> = rollout.spec().fed.iter().map(|fed| fed.site.clone()).collect();
    let overrides = (fed.into_iter().map(|site| {
        let width = program.width(program.tap(&site).unwrap());
        let values = nested(rollout.fed_mut(&site).unwrap(), rows, width);
        FixedValues { site, first: 0, values }
    }))
    .collect();
    let prefix = rollout.spec().prefix;
    (inputs, OracleSpec { rows, steps, prefix, overrides, ..OracleSpec::default() })
}

fn norm(x: impl Iterator<Item = f64>) -> f64 {
    x.map(|x| x * x).sum::<f64>().sqrt()
}

/// How far apart the gradients of two cuts are, for the cuts of the paper.
fn compare(config: VesselConfig) -> Vec<(&'static str, &'static str, f64)> {
    let system = config.check().unwrap();
    let model = model::<f64>(&system, 4.0);
    let mut rollout = rollout::<f64>(&system, system.spec());
    system.fill_batch(key(3, Stream::A, 0), &mut rollout).unwrap();
    let (inputs, spec) = told(&mut rollout);
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
    let pairs = (0..6).flat_map(|i| (0..i).map(move |j| (i, j)));
    let apart = pairs.map(|(i, j)| {
        let (a, b) = (workspace.gradient(i), workspace.gradient(j));
        let apart = norm(a.iter().zip(b).map(|(a, b)| a - b)) / norm(a.iter().copied());
        (CUTS[i], CUTS[j], apart)
    });
    apart.collect()
}

#[test]
fn in_rollouts_and_the_cuts_differ() {
    for (a, b, apart) in compare(small_vessel(Phase::Rollout)) {
        assert!(apart > 1e-6, "{a} and {b} are {apart:e} apart");
    }
}

#[test]
fn when_the_output_is_the_velocity_itself() {
    let config = VesselConfig { output: Output::Velocity, ..small_vessel(Phase::Rollout) };
    for (a, b, apart) in compare(config) {
        assert!(apart > 1e-6, "{a} and {b} are {apart:e} apart");
    }
}

#[test]
fn when_the_policy_remembers_by_a_recurrence() {
    for policy in [Mixer::Gru, Mixer::Lstm, Mixer::Ssm] {
        let apart = compare(VesselConfig { policy, ..small_vessel(Phase::Rollout) });
        let of = |a: &str, b: &str| apart.iter().find(|x| (x.0, x.1) == (a, b)).unwrap().2;
        assert!(of("F_SG", "FF") > 1e-6 && of("KF", "FF") > 1e-6, "{policy}: {apart:?}");
    }
}

/// What a cut of the paper does to memory: the end of its name.
fn memory(cut: &str) -> &str {
    if cut.ends_with("SG") { "SG" } else { &cut[1..] }
}

#[test]
fn in_pretraining_and_physical_cuts_remove_nothing() {
    for (a, b, apart) in compare(small_vessel(Phase::Pretrain)) {
        let same = memory(a) == memory(b);
        assert_eq!(apart < 1e-12, same, "{a} and {b} are {apart:e} apart");
    }
}
