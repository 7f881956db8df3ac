//! Cuts of single edges: what they equal, what they refuse, and how a register may be written.

use crate::common::{Case, bits, cut, distance, spec};
use backcut_engine::{BackwardError, Draw, ForwardSpec, Program, Rollout, Trace, Var, Workspace};
use backcut_kernels::Isa;

#[test]
fn all_edges_one_by_one_are_the_whole_half() {
    for seed in 0..6 {
        let case = Case::random(seed, spec(2, 6));
        for (whole, parts) in [
            ("FD", "FF:keys=D:values=D:register=D"),
            ("F_SG", "FF:keys=SG:values=SG:register=SG"),
            ("F_A0.5", "FD:keys=A0.5:values=A0.5:register=A0.5"),
            ("SEG-2", "F_SG:keys=SEG-2:values=SEG-2:register=SEG-2"),
            ("K2_SG", "K2F:keys=SG:values=SG:register=SG"),
            ("KF", "FF:body=D"),
        ] {
            // A second state, which some have, is an edge too.
            if whole == "KF" && case.program.states().len() > 1 {
                continue;
            }
            let found = [whole, parts].map(|name| bits(&case.gradient::<f64>(name)));
            assert_eq!(found[0], found[1], "seed {seed}: {whole} and {parts}");
        }
    }
}

#[test]
fn every_part_matters() {
    let case = Case::random(3, spec(2, 6));
    let full = case.gradient::<f64>("FF");
    for part in
        ["keys", "values", "cache0", "cache1.keys", "register", "first", "rest", "observation"]
    {
        let cut = case.gradient::<f64>(&format!("FF:{part}=D"));
        let as_f64: Vec<f64> = full.clone();
        assert!(distance(&cut, &as_f64) > 1e-6, "{part}");
    }
}

fn refused(program: &Program, name: &str) -> String {
    let program = std::sync::Arc::new(program.clone());
    let rollout = Rollout::<f64>::new(&program, 1, 4, ForwardSpec::default()).unwrap();
    let error = Workspace::new(&rollout, &[cut(name)]).unwrap_err();
    assert!(!backcut_text::Hinted::hint(&error).is_empty());
    error.to_string()
}

#[test]
fn what_a_program_cannot_honour_is_refused() {
    let case = Case::random(3, spec(2, 6));
    let text = refused(&case.program, "FF:observations=D");
    assert!(text.contains("`observations`") && text.contains("cache0.keys"), "{text}");
    let text = refused(&case.program, "FF:cache0=D:keys=SG");
    assert!(text.contains("both `cache0` and `keys` stand for the edge `cache0.keys`"), "{text}");
    for name in ["FF:observation=SG", "FF:body=SEG-2", "FF:first=RT-0.5"] {
        let text = refused(&case.program, name);
        assert!(text.contains("no edge of memory"), "{name}: {text}");
    }
    // The longer name decides.
    assert_eq!(
        bits(&case.gradient::<f64>("FF:cache0=D:cache0.keys=F")),
        bits(&case.gradient::<f64>("FF:cache0.values=D")),
    );
}

#[test]
fn a_cut_that_draws_waits_for_a_draw() {
    let case = Case::random(3, spec(2, 6));
    let (model, rollout) = case.rolled::<f64>(Isa::detect());
    let mut workspace = Workspace::new(&rollout, &[cut("RT-0.5")]).unwrap();
    let error = workspace.backward(&model, &rollout).unwrap_err();
    assert!(matches!(error, BackwardError::NotDrawn { .. }), "{error}");
    let mut gradient = |update| {
        workspace.draw(Draw::new(5, update));
        workspace.backward(&model, &rollout).unwrap();
        bits(workspace.gradient(0))
    };
    let all: Vec<Vec<u64>> = (0..8).map(&mut gradient).collect();
    assert!(all.iter().any(|other| *other != all[0]));
    // A draw is a function of its key.
    assert_eq!(gradient(3), all[3]);
    assert_eq!(Draw::new(5, 3), Draw::new(5, 3));
}

/// In the mean over draws, unbiased truncation is no truncation.
#[test]
fn unbiased_truncation_is_full_credit_in_the_mean() {
    let case = Case::random(4, spec(1, 4));
    let (model, rollout) = case.rolled::<f64>(Isa::detect());
    let full = case.gradient::<f64>("FF");
    let mean_of = |name: &str| {
        let mut workspace = Workspace::new(&rollout, &[cut(name)]).unwrap();
        let mut mean = vec![0.0; full.len()];
        let draws = 4000;
        for update in 0..draws {
            workspace.draw(Draw::new(1, update));
            workspace.backward(&model, &rollout).unwrap();
            let gradient: &[f64] = workspace.gradient(0);
            mean.iter_mut().zip(gradient).for_each(|(m, g)| *m += g / draws as f64);
        }
        distance(&mean, &full)
    };
    let (unbiased, biased) = (mean_of("URT-0.4"), mean_of("RT-0.4"));
    assert!(unbiased < 0.05 && biased > 3.0 * unbiased, "{unbiased} {biased}");
}

/// `h' = tanh(W [x, h] + b)`, its linear map written in one piece or in two.
fn recurrent(write: for<'t> fn(&'t Trace, Var<'t>, Var<'t>) -> Var<'t>) -> Case {
    let t = Trace::new();
    let (h, x) = (t.register("h", 2), t.input("x", 1));
    let next = write(&t, x, h).tanh();
    t.next("h", next);
    t.loss(next.square().sum());
    Case::new(t.compile().unwrap(), 1, spec(2, 5))
}

#[test]
fn fd_does_not_depend_on_how_a_linear_map_is_written() {
    let joined = recurrent(|t, x, h| t.linear("w", t.concat(&[x, h]), 2));
    let turned = recurrent(|t, x, h| t.linear("w", t.concat(&[h.column(1), x, h.column(0)]), 2));
    let apart = recurrent(|t, x, h| {
        let without_bias = backcut_engine::Init::Uniform { bound: 0.5 };
        t.linear("x", x, 2) + t.linear_with("h", h, 2, without_bias, None)
    });
    // Rows of the weights: x, h0, h1, and the bias, two columns each.
    let w: Vec<f64> = (0..8).map(|i| 0.3 - 0.1 * f64::from(i)).collect();
    let row = |i: usize| w[2 * i..2 * i + 2].to_vec();
    let with = |mut case: Case, rows: [usize; 4]| {
        case.parameters = rows.iter().flat_map(|&i| row(i)).collect();
        case
    };
    let orders = [[0, 1, 2, 3], [2, 0, 1, 3], [0, 3, 1, 2]];
    let cases = [joined, turned, apart];
    let cases: Vec<Case> = cases.into_iter().zip(orders).map(|(c, o)| with(c, o)).collect();
    for name in ["FF", "FD", "F_SG", "SEG-2", "FF:h=D", "RT-0.5"] {
        let sorted: Vec<Vec<f64>> = cases
            .iter()
            .zip(orders)
            .map(|(case, order)| {
                let mut case_inputs = Case::new((*case.program).clone(), 1, case.spec.clone());
                case_inputs.parameters.clone_from(&case.parameters);
                let found = case_inputs.gradient::<f64>(name);
                let oracle = case_inputs.oracle(cut(name)).gradient;
                assert!(distance(&found, &oracle) < 1e-13, "{name}");
                let mut sorted = vec![0.0; 8];
                for (place, row) in order.into_iter().enumerate() {
                    sorted[2 * row..2 * row + 2].copy_from_slice(&found[2 * place..2 * place + 2]);
                }
                sorted
            })
            .collect();
        for other in &sorted[1..] {
            assert!(distance(other, &sorted[0]) < 1e-13, "{name}");
        }
    }
}
