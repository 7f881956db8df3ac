//! The decomposition by age adds up to the gradient it decomposes, and the state Jacobians it rests
//! on equal central differences of the closed loop.

use std::sync::Arc;

use backcut_engine::{
    BackwardError, Cut, Fed, ForwardSpec, Model, Program, Rollout, StateJacobians, Trace,
    Workspace, gradient_by_age,
};

/// A state of two entries steered by a one-layer policy that reads its history.
fn program() -> Arc<Program> {
    let t = Trace::new();
    let s = t.state("s", 2);
    let target = t.input("target", 2);
    let n = t.linear("embed", t.concat(&[s, target]), 4).tanh();
    let (q, k, v) = (t.linear("q", n, 4), t.linear("k", n, 4), t.linear("v", n, 4));
    let action = t.linear("head", t.attend("memory", q, k, v, 2) + n, 2).tanh();
    let next = t.tap("next", s * 0.9 + action * 0.4 + s.sin() * 0.2);
    t.next("s", next);
    t.loss((next - target).weighted_square(&[1.0, 2.0]) + action.weighted_square(&[0.1, 0.1]));
    Arc::new(t.compile().unwrap())
}

fn rolled(steps: usize, rows: usize) -> (Model<f64>, Rollout<f64>) {
    let program = program();
    let model = Model::new(&program, program.layout().initialise(3)).unwrap();
    let mut rollout = Rollout::new(&program, rows, steps, ForwardSpec::default()).unwrap();
    let wave = |i: usize| ((i * 37 % 101) as f64 - 50.0) / 60.0;
    let target = rollout.input_mut("target").unwrap();
    target.iter_mut().enumerate().for_each(|(i, v)| *v = wave(i));
    let initial = rollout.initial_mut("s").unwrap();
    initial.iter_mut().enumerate().for_each(|(i, v)| *v = wave(7 * i + 3));
    model.roll(&mut rollout).unwrap();
    (model, rollout)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[test]
fn bins_add_up_under_every_detached_cut() {
    let (model, rollout) = rolled(9, 3);
    for name in ["FD", "F_SG", "SEG-1", "F_A0", "KD", "K_SG", "K3D", "K4_SG"] {
        let cut: Cut = name.parse().unwrap();
        let mut workspace = Workspace::new(&rollout, &[cut]).unwrap();
        workspace.backward(&model, &rollout).unwrap();
        let bins = [0..1, 1..2, 2..5, 5..9];
        let parts = gradient_by_age(&model, &rollout, cut, &bins).unwrap();
        let whole = workspace.gradient(0);
        let rest: Vec<f64> =
            (0..whole.len()).map(|i| whole[i] - parts.iter().map(|p| p[i]).sum::<f64>()).collect();
        assert!(norm(&rest) < 1e-13 * norm(whole), "{name}: {:e}", norm(&rest) / norm(whole));
        // One-step credit has nothing older than the action's own step.
        let old: f64 = parts[1..].iter().map(|p| norm(p)).sum();
        assert_eq!(old == 0.0, name.starts_with("KD") || name.starts_with("K_"), "{name}");
    }
}

#[test]
fn a_state_fed_from_outside_passes_nothing_on() {
    let (model, plain) = rolled(9, 2);
    let program = plain.program();
    let spec =
        ForwardSpec { fed: vec![Fed { site: "s".into(), steps: 4..6 }], ..ForwardSpec::default() };
    let mut rollout = Rollout::new(program, 2, 9, spec).unwrap();
    rollout.fed_mut("s").unwrap().fill(0.3);
    let target = plain.values(program.tap("target").unwrap());
    rollout.input_mut("target").unwrap().copy_from_slice(target);
    let start = plain.value(program.tap("s").unwrap(), 0);
    rollout.initial_mut("s").unwrap().copy_from_slice(start);
    model.roll(&mut rollout).unwrap();
    let mut workspace = Workspace::new(&rollout, &[Cut::FD]).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    let parts = gradient_by_age(&model, &rollout, Cut::FD, &[0..1, 1..9]).unwrap();
    let whole = workspace.gradient(0);
    let rest: Vec<f64> = (0..whole.len()).map(|i| whole[i] - parts[0][i] - parts[1][i]).collect();
    assert!(norm(&rest) < 1e-13 * norm(whole), "{:e}", norm(&rest) / norm(whole));
    assert!(gradient_by_age(&model, &rollout, Cut::FD, &[0..2, 1..9]).is_err(), "bins overlap");
}

#[test]
fn ages_are_refused_where_credit_passes_through_memory() {
    let (model, rollout) = rolled(4, 1);
    for name in ["FF", "SEG-2", "F_A0.5", "KF"] {
        let cut: Cut = name.parse().unwrap();
        let error =
            gradient_by_age(&model, &rollout, cut, std::slice::from_ref(&(0..4))).unwrap_err();
        assert_eq!(error, BackwardError::AgesNeedDetachedMemory { cut });
    }
}

#[test]
fn state_jacobians_equal_differences_of_the_closed_loop() {
    let (model, rollout) = rolled(6, 2);
    let jacobians = StateJacobians::new(&model, &rollout).unwrap();
    let program = rollout.program();
    let site = program.tap("s").unwrap();
    let next = program.tap("next").unwrap();
    for t in 1..6 {
        for k in 0..2 {
            // Move the state at step t alone; memory before t and the query's own step follow.
            let moved = |h: f64| {
                let mut values = rollout.value(site, t).to_vec();
                values.iter_mut().skip(k).step_by(2).for_each(|v| *v += h);
                let spec = ForwardSpec {
                    fed: vec![Fed { site: "s".into(), steps: t..t + 1 }],
                    ..ForwardSpec::default()
                };
                let mut other = Rollout::new(program, 2, 6, spec).unwrap();
                other.fed_mut("s").unwrap().copy_from_slice(&values);
                let target = rollout.values(program.tap("target").unwrap());
                other.input_mut("target").unwrap().copy_from_slice(target);
                let start = rollout.value(site, 0);
                other.initial_mut("s").unwrap().copy_from_slice(start);
                model.roll(&mut other).unwrap();
                other.value(next, t).to_vec()
            };
            let h = 1e-5;
            let (up, down) = (moved(h), moved(-h));
            for row in 0..2 {
                for i in 0..2 {
                    let expected = (up[row * 2 + i] - down[row * 2 + i]) / (2.0 * h);
                    let found = jacobians.at(t, row)[i * 2 + k];
                    assert!((found - expected).abs() < 1e-8, "t {t} row {row}: {found} {expected}");
                }
            }
        }
    }
}
