//! A donor's memory in place of one's own: what it must change, what it must not, and what is
//! refused.

use std::sync::Arc;

use backcut_engine::{
    BackwardError, Cut, Donor, ForwardError, ForwardSpec, Model, Program, Rollout, Trace, Workspace,
};

const ROWS: usize = 3;
const STEPS: usize = 5;

/// A policy with a cache and a register, steering one state.
fn program() -> Arc<Program> {
    let t = Trace::new();
    let (s, h) = (t.state("s", 2), t.register("h", 2));
    let n = t.linear("embed", t.concat(&[s, t.input("target", 2)]), 4).tanh();
    let (q, k, v) = (t.linear("q", n, 4), t.linear("k", n, 4), t.linear("v", n, 4));
    let read = t.linear("head", t.attend("memory", q, k, v, 2), 2);
    let stored = (t.linear("recall", h, 2) + read).tanh();
    t.next("h", stored);
    let next = t.tap("next", s * 0.9 + stored * 0.3);
    t.next("s", next);
    t.loss(next.weighted_square(&[1.0, 1.0]));
    Arc::new(t.compile().unwrap())
}

fn model() -> Model<f32> {
    let program = program();
    Model::new(&program, program.layout().initialise(5)).unwrap()
}

fn rolled(model: &Model<f32>, donor: Option<Donor<f32>>) -> Rollout<f32> {
    let spec = ForwardSpec { donor, ..ForwardSpec::default() };
    let mut rollout = Rollout::new(model.program(), ROWS, STEPS, spec).unwrap();
    let wave = |i: usize| ((i * 29 % 17) as f32 - 8.0) / 9.0;
    for (name, shift) in [("s", 2), ("h", 5)] {
        let values = rollout.initial_mut(name).unwrap();
        values.iter_mut().enumerate().for_each(|(i, v)| *v = wave(i + shift));
    }
    let target = rollout.input_mut("target").unwrap();
    target.iter_mut().enumerate().for_each(|(i, v)| *v = wave(3 * i + 1));
    model.roll(&mut rollout).unwrap();
    rollout
}

fn states(rollout: &Rollout<f32>) -> Vec<u32> {
    let site = rollout.program().tap("next").unwrap();
    rollout.values(site).iter().map(|v| v.to_bits()).collect()
}

#[test]
fn a_donor_equal_to_the_recipient_changes_nothing() {
    let model = model();
    let own = rolled(&model, None);
    let donor = Donor { rollout: Arc::new(own.clone()), rows: vec![0, 1, 2], memories: vec![] };
    assert_eq!(states(&rolled(&model, Some(donor))), states(&own));
}

#[test]
fn another_rows_memory_changes_every_later_step_and_not_the_first() {
    let model = model();
    let own = rolled(&model, None);
    let donor = Donor { rollout: Arc::new(own.clone()), rows: vec![1, 2, 0], memories: vec![] };
    let (own, other) = (states(&own), states(&rolled(&model, Some(donor))));
    let step = ROWS * 2;
    assert_eq!(own[..step], other[..step], "nothing was stored before the first step");
    for (t, (own, other)) in own.chunks(step).zip(other.chunks(step)).enumerate().skip(1) {
        for row in 0..ROWS {
            assert_ne!(own[2 * row..][..2], other[2 * row..][..2], "step {t}, row {row}");
        }
    }
}

#[test]
fn a_donor_gives_the_memories_that_are_named_and_no_other() {
    let model = model();
    let own = rolled(&model, None);
    let given = |memories: &[&str]| {
        let memories = memories.iter().map(|name| (*name).to_owned()).collect();
        let donor = Donor { rollout: Arc::new(own.clone()), rows: vec![1, 2, 0], memories };
        states(&rolled(&model, Some(donor)))
    };
    let (cache, register) = (given(&["memory"]), given(&["h"]));
    assert_ne!(cache, register);
    assert_ne!(cache, given(&[]));
    assert_ne!(register, given(&[]));
    assert_eq!(given(&["h", "memory"]), given(&[]));
    let memories = vec!["memory".to_owned(), "keys".to_owned()];
    let donor = Donor { rollout: Arc::new(own.clone()), rows: vec![1, 2, 0], memories };
    let spec = ForwardSpec { donor: Some(donor), ..ForwardSpec::default() };
    let refused = Rollout::new(model.program(), ROWS, STEPS, spec).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the donor is to give `keys`, and the program stores memory, h"
    );
}

#[test]
fn what_a_donor_makes_meaningless_is_refused() {
    let model = model();
    let own = rolled(&model, None);
    let donor = |rollout: &Rollout<f32>, rows: Vec<usize>| Donor {
        rollout: Arc::new(rollout.clone()),
        rows,
        memories: vec![],
    };
    let reader = rolled(&model, Some(donor(&own, vec![1, 2, 0])));
    let mut workspace = Workspace::new(&own, &[Cut::FF]).unwrap();
    assert_eq!(workspace.backward(&model, &reader), Err(BackwardError::Donor));
    let refused = |donor: Donor<f32>, steps: usize| {
        let spec = ForwardSpec { donor: Some(donor), ..ForwardSpec::default() };
        matches!(Rollout::new(model.program(), ROWS, steps, spec), Err(ForwardError::Donor(_)))
    };
    assert!(refused(donor(&own, vec![0, 1]), STEPS), "a row without a donor");
    assert!(refused(donor(&own, vec![0, 1, 3]), STEPS), "a donor row that does not exist");
    assert!(refused(donor(&own, vec![0, 1, 2]), STEPS + 1), "another number of steps");
    assert!(refused(donor(&reader, vec![0, 1, 2]), STEPS), "a donor that reads a donor");
}

#[test]
fn a_rollout_of_other_parameters_is_not_differentiated() {
    let mut model = model();
    let own = rolled(&model, None);
    let mut workspace = Workspace::new(&own, &[Cut::FF]).unwrap();
    workspace.backward(&model, &own).unwrap();
    let mut values = model.values().to_vec();
    values[0] += 0.5;
    model.load(&values).unwrap();
    assert_eq!(workspace.backward(&model, &own), Err(BackwardError::OtherParameters));
}
