//! For every kind of cut: the engine's gradient is the scalar oracle's.

use crate::common::{Case, KINDS, PARTS, cut, cuts, distance, spec};
use backcut_engine::edges::Through;
use backcut_engine::{Draw, Trace, Workspace};
use backcut_kernels::{Isa, Real};
use backcut_oracle::{
    FixedValues, OracleSpec, PolicySizes, Random, WrongEdge, policy_by_hand, trace_policy,
};
use proptest::prelude::*;

/// Largest distance over the cuts, relative to the norm of each gradient.
fn worst<R: Real>(case: &Case, names: &[&str]) -> (f64, String) {
    let gradients = case.gradients::<R>(&cuts(names));
    let mut worst = (0.0, String::new());
    for (name, gradient) in names.iter().zip(&gradients) {
        let error = distance(gradient, &case.oracle(cut(name)).gradient);
        if error >= worst.0 {
            worst = (error, (*name).to_owned());
        }
    }
    worst
}

fn assert_match(case: &Case, names: &[&str], what: &str) {
    let (error, name) = worst::<f64>(case, names);
    assert!(error < 1e-10, "{what}, {name}: {error:.1e}");
}

#[test]
fn every_kind_of_cut_on_random_programs() {
    for seed in 0..24 {
        let prefix = [0, 0, 1, 3][seed as usize % 4];
        let rows = 1 + seed as usize % 3;
        let case = Case::random(seed, OracleSpec { prefix, ..spec(rows, prefix + 5) });
        assert_match(&case, &KINDS, &format!("seed {seed}"));
        assert_match(&case, &PARTS, &format!("seed {seed}"));
    }
}

#[test]
fn every_kind_of_cut_under_windows_and_masks() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mask: Vec<Vec<bool>> =
            (0..6).map(|_| (0..6).map(|_| !random.one_in(3)).collect()).collect();
        let prefix = seed as usize % 3;
        let (window, mask) = match seed % 3 {
            0 => (Some(1 + seed as usize % 4), None),
            1 => (None, Some(mask)),
            _ => (Some(3), Some(mask)),
        };
        let spec = OracleSpec { prefix, window, mask, ..spec(2, 6) };
        let case = Case::random_caches(seed, spec);
        assert_match(&case, &KINDS, &format!("seed {seed}"));
        assert_match(&case, &PARTS[..20], &format!("seed {seed}"));
    }
}

#[test]
fn every_kind_of_cut_with_values_from_outside() {
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let (rows, steps) = (2, 6);
        let mut case = Case::random(seed, spec(rows, steps));
        for site in ["body", "register", "action", "stored1", "key0"] {
            let width = case.program.width(case.program.tap(site).unwrap());
            let first = random.between(0, steps - 2);
            let mut row = || (0..width).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<_>>();
            let values = (0..2).map(|_| (0..rows).map(|_| row()).collect()).collect();
            case.spec.overrides.push(FixedValues { site: site.into(), first, values });
        }
        // Chunks shorter than the rollout, so that a buffer holds what another step left in it.
        let (model, rollout) = case.rolled::<f64>(Isa::detect());
        let all = [&KINDS[..], &PARTS].concat();
        let mut workspace = Workspace::with_chunk(&rollout, &cuts(&all), 2).unwrap();
        workspace.draw(Draw::default());
        workspace.backward(&model, &rollout).unwrap();
        for (i, name) in all.iter().enumerate() {
            let error = distance(workspace.gradient(i), &case.oracle(cut(name)).gradient);
            assert!(error < 1e-10, "seed {seed}, {name}: {error:.1e}");
        }
    }
}

#[test]
fn every_kind_of_cut_on_the_policy_written_by_hand() {
    let sizes = PolicySizes::default();
    for (seed, prefix) in [(0, 0), (1, 2)] {
        let spec = OracleSpec { prefix, ..spec(3, prefix + 6) };
        let case = Case::new(trace_policy(sizes).unwrap(), seed, spec);
        for (name, gradient) in KINDS.iter().zip(case.gradients::<f64>(&cuts(&KINDS))) {
            let layout = case.program.layout();
            let by_hand = policy_by_hand(
                layout,
                &case.parameters,
                sizes,
                &case.inputs,
                &case.spec,
                cut(name),
            );
            let error = distance(&gradient, &by_hand.gradient);
            assert!(error < 1e-10, "{name}, prefix {prefix}: {error:.1e}");
        }
    }
}

#[test]
fn values_and_losses_match() {
    for seed in 0..12 {
        let prefix = seed as usize % 2;
        let case = Case::random(seed, OracleSpec { prefix, ..spec(3, 6) });
        let oracle = case.oracle(cut("FF"));
        let (model, mut rollout) = case.rolled::<f64>(Isa::detect());
        // Watched, because private values of narrow sites are rows only then.
        model.roll_checked(&mut rollout).unwrap();
        for (site, steps) in oracle.values.iter().enumerate() {
            let node = &case.program.nodes()[site];
            let expected = steps.concat().concat();
            let found = rollout.values(site);
            let promised = case.program.tap_names();
            assert!(found.len() == expected.len() || !promised.contains(&node.label.as_str()));
            // A site that neither a reader nor a derivative needs keeps no history.
            let kept = if found.len() == expected.len() { found } else { &[] };
            for (i, (found, expected)) in kept.iter().zip(&expected).enumerate() {
                let error = (found - expected).abs();
                let t = i / (node.width * case.spec.rows);
                assert!(error < 1e-12, "seed {seed}, `{}`, step {t}: {error:.1e}", node.label);
            }
        }
        assert!(distance(rollout.row_loss().unwrap(), &oracle.row_loss) < 1e-13);
    }
}

#[test]
fn single_precision_is_close() {
    for seed in 0..8 {
        let case = Case::random(seed, spec(2, 5)).rounded_to_f32();
        let (error, name) = worst::<f32>(&case, &KINDS);
        assert!(error < 1e-4, "seed {seed}, {name}: {error:.1e}");
    }
}

/// The comparison is worth something: one edge kept or dropped against the cut, and it fails.
#[test]
fn one_wrong_edge_of_any_kind_is_noticed() {
    let edges =
        [(Through::State, 0), (Through::Register, 0), (Through::Cache, 0), (Through::Cache, 1)];
    for seed in 0..3 {
        for (through, index) in edges {
            for (from, to) in [(0, 1), (2, 3), (1, 4)] {
                if to - from > 1 && through != Through::Cache {
                    continue;
                }
                for name in ["FF", "FD", "F_SG", "SEG-2", "F_A0.5", "KF", "K2D"] {
                    let mut case = Case::random(seed, spec(1, 5));
                    let gradient = case.gradient::<f64>(name);
                    assert!(distance(&gradient, &case.oracle(cut(name)).gradient) < 1e-10);
                    case.spec.wrong_edge = Some(WrongEdge { through, index, from, to });
                    let error = distance(&gradient, &case.oracle(cut(name)).gradient);
                    assert!(
                        error > 1e-8,
                        "{name}, {through:?} {index} from {from} to {to}: {error:.1e}"
                    );
                }
            }
        }
    }
}

fn any_cut() -> impl Strategy<Value = String> {
    let physical =
        prop_oneof![Just("F".to_owned()), Just("K".into()), (2..6).prop_map(|k| format!("K{k}"))];
    let memory = prop_oneof![
        Just("F".to_owned()),
        Just("D".into()),
        Just("_SG".into()),
        (1..8).prop_map(|length| format!("_SEG-{length}")),
        (0..=8).prop_map(|eighths| format!("_A{}", f64::from(eighths) / 8.0)),
    ];
    (physical, memory).prop_map(|(physical, memory)| physical + &memory)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_cuts_on_any_program(
        seed in any::<u64>(),
        rows in 1..=3usize,
        prefix in 0..=3usize,
        steps in 1..=6usize,
        names in proptest::collection::vec(any_cut(), 1..4),
    ) {
        let case = Case::random(seed, OracleSpec { prefix, ..spec(rows, prefix + steps) });
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (error, name) = worst::<f64>(&case, &names);
        prop_assert!(error < 1e-10, "{}: {:.1e}", name, error);
    }
}

/// Attention, a residual sum (which is the home of its linear term's adjoint) and a linear site,
/// fed from outside, in a workspace that differentiated another rollout before.
#[test]
fn attention_sums_and_linear_sites_from_outside_in_a_used_workspace() {
    let t = Trace::new();
    let (body, x) = (t.state("body", 4), t.input("x", 4));
    let hidden = t.linear("embed", t.concat(&[body, x]), 4).tanh();
    let (key, value) = (t.linear("w_k", hidden, 4), t.linear("w_v", hidden, 4));
    let read = t.tap("read", t.attend("cache", hidden, key, value, 2));
    let sum = t.tap("sum", hidden + t.linear("w_o", read, 4));
    let plain = t.tap("plain", t.linear("head", sum, 4));
    let next = body * 0.8 + plain.tanh() * 0.3;
    t.next("body", next);
    t.loss((next - x).square().sum());
    let mut case = Case::new(t.compile().unwrap(), 5, spec(2, 11));
    let (model, clean) = case.rolled::<f64>(Isa::detect());
    let mut workspace = Workspace::with_chunk(&clean, &cuts(&KINDS), 4).unwrap();
    workspace.backward(&model, &clean).unwrap();
    let mut random = Random::new(5);
    for (site, first) in [("read", 6), ("sum", 8), ("plain", 1)] {
        let mut row = || (0..4).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<_>>();
        let values = (0..2).map(|_| (0..2).map(|_| row()).collect()).collect();
        case.spec.overrides.push(FixedValues { site: site.into(), first, values });
    }
    let (model, rollout) = case.rolled::<f64>(Isa::detect());
    workspace.backward(&model, &rollout).unwrap();
    for (i, name) in KINDS.iter().enumerate() {
        let error = distance(workspace.gradient(i), &case.oracle(cut(name)).gradient);
        assert!(error < 1e-10, "{name}: {error:.1e}");
    }
}
