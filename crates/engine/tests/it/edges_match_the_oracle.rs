//! The edge list is what the oracle notes while it places stop-gradients.

use crate::common::{Case, KINDS, PARTS, cut, spec};
use backcut_engine::edges::{Edge, EdgeList, Fate, Reach};
use backcut_engine::{BackwardError, Cut, MemoryReads, Program, Trace};
use backcut_oracle::{FixedValues, Objective, OracleSpec, Random};
use proptest::prelude::*;

/// The oracle's edges, in the order of the engine's list. A factor of 0 is a stop-gradient: the
/// engine runs the two as one rule and lists them as one. Products of factors are compared to
/// rounding.
fn noted(case: &Case, cut: Cut) -> Vec<String> {
    words(case.oracle(cut).edges)
}

fn listed(case: &Case, cut: Cut) -> Vec<String> {
    words(list(case, cut).edges().to_vec())
}

fn words(edges: Vec<Edge>) -> Vec<String> {
    let word = |edge: Edge| match edge.fate {
        Fate::Scaled(0.0) => format!("{:?}", Edge { fate: Fate::WeightsOnly, ..edge }),
        Fate::Scaled(factor) => format!("{:?} {factor:.12}", Edge { fate: Fate::Kept, ..edge }),
        _ => format!("{edge:?}"),
    };
    let mut words: Vec<String> = edges.into_iter().map(word).collect();
    words.sort();
    words
}

fn list(case: &Case, cut: Cut) -> EdgeList<'_> {
    let forward = case.spec.forward_spec::<f64>();
    EdgeList::new(&case.program, case.spec.steps, case.spec.prefix, &forward.reads, cut).unwrap()
}

/// A random program with a register, or with a window, a mask or both.
fn any_case(seed: u64, predicted: usize, prefix: usize, reads: usize) -> Case {
    let prefix = prefix.min(8 - predicted);
    let steps = prefix + predicted;
    let spec = OracleSpec { prefix, ..spec(1, steps) };
    if reads == 4 {
        return Case::random(seed, spec);
    }
    let mut random = Random::new(seed);
    let window = (reads & 1 == 1).then(|| random.between(1, steps));
    let mut row = |_| (0..steps).map(|_| !random.one_in(3)).collect();
    let mask = (reads & 2 == 2).then(|| (0..steps).map(&mut row).collect());
    Case::random_caches(seed, OracleSpec { window, mask, ..spec })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_list_is_the_oracles_for_every_kind_of_cut(
        seed in any::<u64>(),
        predicted in 1..=8usize,
        prefix in 0..4usize,
        reads in 0..5usize,
    ) {
        let case = any_case(seed, predicted, prefix, reads);
        let parts = if reads == 4 { &PARTS[..] } else { &PARTS[..20] };
        for name in KINDS.iter().chain(parts).copied() {
            prop_assert_eq!(listed(&case, cut(name)), noted(&case, cut(name)), "{}", name);
        }
    }
}

/// Taps receive credit from the loss of one step where, and only where, the oracle finds some.
fn assert_reach(case: &mut Case, name: &str, t: usize) {
    let zeros = |width: usize| vec![vec![0.0; width]; case.spec.rows];
    let mut values = vec![zeros(1); case.spec.steps];
    values[t] = vec![vec![1.0]; case.spec.rows];
    let seeds = vec![FixedValues { site: "cost".into(), first: 0, values }];
    case.spec.objective = Some(Objective { loss: 0.0, seeds });
    let found = case.oracle(cut(name)).adjoints;
    let reach: Reach = list(case, cut(name)).reach(t).unwrap();
    for tap in ["action", "stored0", "stored1", "remembered"] {
        let site = case.program.tap(tap).unwrap();
        for (step, rows) in found[site].iter().enumerate() {
            let is_reached = rows.iter().flatten().any(|&adjoint| adjoint != 0.0);
            assert_eq!(
                reach.at(step, site).is_some(),
                is_reached,
                "{name}: loss of step {t}, `{tap}` of step {step}"
            );
        }
    }
}

/// Two layers, a register and a state that feeds the observation; the loss is a tap.
fn small() -> Program {
    let t = Trace::new();
    let body = t.state("body", 2);
    let memory = t.register("memory", 2);
    let mut hidden = t.linear("embed", body, 4) + t.linear("recall", memory, 4);
    for layer in 0..2 {
        let name = |part: &str| format!("block{layer}.{part}");
        let stored = t.tap(&format!("stored{layer}"), t.layer_norm(&name("norm"), hidden));
        let project = |part: &str| t.linear(&name(part), stored, 4);
        let read = t.attend(&name("cache"), project("q"), project("k"), project("v"), 2);
        hidden = hidden + read;
    }
    let action = t.tap("action", t.linear("head", hidden, 2).tanh());
    t.next("memory", t.tap("remembered", t.linear("write", hidden, 2).sin()));
    let next = body * 0.8 + action * 0.3;
    t.next("body", next);
    t.loss(t.tap("cost", (next.square() + action).sum()));
    t.compile().unwrap()
}

#[test]
fn the_reach_of_a_loss_is_where_the_oracle_finds_credit() {
    for prefix in [0, 2] {
        let mut case = Case::new(small(), 5, OracleSpec { prefix, ..spec(1, 8) });
        for name in KINDS {
            for t in prefix..8 {
                assert_reach(&mut case, name, t);
            }
        }
    }
}

#[test]
fn the_fewest_state_edges_are_those_that_steps_of_k_allow() {
    let case = Case::new(small(), 5, spec(1, 8));
    let action = case.program.tap("action").unwrap();
    for memory in ["F", "D", "_SG", "_SEG-3"] {
        let full = list(&case, cut(&format!("F{memory}"))).reach(7).unwrap();
        for k in 1..=8 {
            let limited = list(&case, cut(&format!("K{k}{memory}"))).reach(7).unwrap();
            for step in 0..8 {
                let expected = full.at(step, action).filter(|&edges| edges < k);
                assert_eq!(limited.at(step, action), expected, "K{k}{memory}, step {step}");
            }
        }
    }
}

#[test]
fn a_cut_that_cannot_be_honoured_is_the_backwards_error() {
    let t = Trace::new();
    let x = t.input("x", 2);
    let wide = t.linear("w", x, 2);
    let read = t.attend("cache", wide, wide.tanh(), wide, 1);
    t.loss(read.sum());
    let program = t.compile().unwrap();
    let new = |name: &str| EdgeList::new(&program, 4, 0, &MemoryReads::All, cut(name));
    assert!(matches!(new("KF"), Err(BackwardError::NoStateEdge { .. })));
    let error = new("SEG-2").unwrap_err();
    assert!(error.to_string().contains("memory edge `cache` (key)"), "{error}");
    assert!(new("FD").is_ok());
}
