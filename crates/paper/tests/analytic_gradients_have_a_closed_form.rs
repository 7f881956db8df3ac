//! Every cut of the engine equals the analytic system's formula, and cuts that must differ do.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use backcut_engine::{Cut, Model, Rollout, Workspace};
use backcut_kernels::random::Stream;
use backcut_paper::analytic::system::closed_form::{self, Trajectory};
use backcut_paper::analytic::system::{Analytic, AnalyticConfig, PARAMETERS};
use backcut_systems::System;

const NAMES: [&str; 18] = [
    "FF", "FD", "KF", "KD", "F_SG", "K_SG", "SEG-1", "SEG-2", "SEG-5", "SEG-64", "K_SEG-3", "K2F",
    "K4D", "K4_SG", "K9F", "F_A0.5", "F_A1", "K3_A0.25",
];

/// A batch with memory at the start, which the sampler itself leaves empty.
fn trajectories(rows: usize, steps: usize, seed: u64) -> Vec<Trajectory> {
    let stream = Stream::new(seed, "closed form");
    let of_row = |row| {
        let mut draws = stream.at(0, row as u64);
        let (x0, m0) = (draws.normal(), draws.normal());
        let mut list = || (0..steps).map(|_| draws.normal()).collect();
        Trajectory { x0, m0, disturbance: list(), gust: list(), noise: list() }
    };
    (0..rows).map(of_row).collect()
}

fn rolled(system: &Analytic, batch: &[Trajectory]) -> Rollout<f64> {
    let program = System::<f64>::program(system);
    let (rows, steps) = (batch.len(), batch[0].noise.len());
    let mut rollout = Rollout::new(program, rows, steps, System::<f64>::spec(system)).unwrap();
    for (row, trajectory) in batch.iter().enumerate() {
        rollout.initial_mut("x").unwrap()[row] = trajectory.x0;
        rollout.initial_mut("m").unwrap()[row] = trajectory.m0;
        for t in 0..steps {
            let Trajectory { disturbance, gust, noise, .. } = trajectory;
            for (name, values) in [("disturbance", disturbance), ("gust", gust), ("noise", noise)] {
                rollout.input_mut(name).unwrap()[t * rows + row] = values[t];
            }
        }
    }
    rollout
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squared = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let difference = squared(&mut a.iter().zip(b).map(|(x, y)| x - y));
    difference / squared(&mut b.iter().copied())
}

#[test]
fn every_cut_equals_its_formula() {
    let cuts: Vec<Cut> = NAMES.iter().map(|name| name.parse().unwrap()).collect();
    for (coupling, steps, seed) in [(1.0, 16, 1), (0.3, 7, 2), (-0.8, 1, 3), (0.0, 12, 4)] {
        let system = AnalyticConfig { coupling, steps, batch: 5 }.check().unwrap();
        let batch = trajectories(5, steps, seed);
        let theta = [-0.3, 0.6, 0.4, 0.7, -0.5];
        let program = System::<f64>::program(&system);
        let model = Model::new(program, theta.to_vec()).unwrap();
        let mut rollout = rolled(&system, &batch);
        let loss = model.roll(&mut rollout).unwrap();
        let mut workspace = Workspace::new(&rollout, &cuts).unwrap();
        workspace.backward(&model, &rollout).unwrap();
        for (i, &cut) in cuts.iter().enumerate() {
            let rows =
                batch.iter().map(|t| closed_form::gradient(cut, coupling, theta, t).unwrap());
            let mut want = closed_form::Closed { loss: 0.0, gradient: [0.0; 5] };
            for row in rows {
                want.loss += row.loss;
                want.gradient = std::array::from_fn(|p| want.gradient[p] + row.gradient[p]);
            }
            assert!((loss - want.loss).abs() <= 1e-12 * want.loss, "{cut}: {loss} {want:?}");
            let off = distance(workspace.gradient(i), &want.gradient);
            assert!(off <= 1e-12, "{cut} at coupling {coupling}, {steps} steps: {off:e}");
        }
    }
}

#[test]
fn the_formulas_of_distinct_cuts_differ() {
    let batch = trajectories(1, 16, 9);
    let theta = [-0.3, 0.6, 0.4, 0.7, -0.5];
    let of =
        |name: &str| closed_form::gradient(name.parse().unwrap(), 1.0, theta, &batch[0]).unwrap();
    let distinct = ["FF", "FD", "KF", "KD", "F_SG", "K_SG", "SEG-2", "SEG-5", "K2F", "F_A0.5"];
    for (i, a) in distinct.iter().enumerate() {
        for b in &distinct[i + 1..] {
            let off = distance(&of(a).gradient, &of(b).gradient);
            assert!(off > 1e-3, "{a} and {b}: {off:e}");
        }
    }
    assert_eq!(of("SEG-1"), of("F_SG"));
    assert_eq!(of("SEG-16"), of("FF"));
}

#[test]
fn parameters_are_named_in_the_order_of_the_layout() {
    let system = AnalyticConfig::default().check().unwrap();
    let layout = System::<f64>::program(&system).layout().clone();
    assert_eq!(layout.len(), 5);
    let order: Vec<usize> = PARAMETERS.iter().map(|name| layout.find(name).unwrap()).collect();
    assert_eq!(order, [0, 1, 2, 3, 4], "the formula's order is the layout's");
}

#[test]
fn a_batch_depends_on_its_key_and_the_panel_does_not() {
    use backcut_systems::{BatchKey, Stream};
    let system = AnalyticConfig::default().check().unwrap();
    let program = System::<f64>::program(&system);
    let errors = |fill: &dyn Fn(&mut Rollout<f64>)| {
        let mut rollout = Rollout::new(program, 8, 16, System::<f64>::spec(&system)).unwrap();
        fill(&mut rollout);
        rollout.initial_mut("x").unwrap().to_vec()
    };
    let key = BatchKey { seed: 3, stream: Stream::A, update: 5 };
    let of = |key: BatchKey| errors(&|rollout| system.fill_batch(key, rollout).unwrap());
    assert_eq!(of(key), of(key));
    assert_ne!(of(key), of(BatchKey { update: 6, ..key }));
    assert_ne!(of(key), of(BatchKey { stream: Stream::B, ..key }));
    let panel = |first| errors(&|rollout| system.fill_panel(first, rollout).unwrap());
    assert_eq!(panel(0)[4..], panel(4)[..4]);
}
