//! The gradients of `examples/tape.rs` are the engine's, cut by cut.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/tape.rs"]
#[allow(dead_code, reason = "the page trains and prints, too")]
mod tape;

use std::sync::Arc;

use backcut_engine::{Cut, ForwardSpec, Model, Program, Rollout, Trace, Workspace};
use tape::{CUTS, PARAMETERS, Random, STEPS, WIDTH};

/// The page's step, written on a trace.
fn traced() -> Program {
    let t = Trace::new();
    let (cue, push, target) = (t.input("cue", 1), t.input("push", 1), t.input("target", 1));
    let cart = t.state("cart", 2);
    let [position, velocity] = cart.split([1, 1]);
    let stored = t.linear("embed", t.concat(&[cue, position, velocity]), WIDTH).tanh();
    let [query, key, value] = ["query", "key", "value"].map(|name| t.linear(name, stored, WIDTH));
    let read = t.attend("memory", query, key, value, 1);
    let action = t.linear("head", t.concat(&[stored, read]), 1).tanh();
    let velocity = velocity * 0.8 + push * action;
    let position = position + velocity * 0.5;
    t.next("cart", t.concat(&[position, velocity]));
    t.loss((position - target).square());
    t.compile().unwrap()
}

#[test]
fn its_gradients_are_the_engines() {
    let program = Arc::new(traced());
    assert_eq!(program.layout().len(), PARAMETERS);
    let mut random = Random(3);
    for _ in 0..4 {
        let (parameters, target) = (tape::initial(&mut random), random.draw());
        let record = tape::roll(&parameters, target);

        let model = Model::new(&program, parameters.clone()).unwrap();
        let mut rollout = Rollout::new(&program, 1, STEPS, ForwardSpec::default()).unwrap();
        rollout.input_mut("cue").unwrap()[0] = target;
        rollout.input_mut("target").unwrap().fill(target);
        for (t, push) in rollout.input_mut("push").unwrap().iter_mut().enumerate() {
            *push = tape::push(t);
        }
        let loss = model.roll(&mut rollout).unwrap();
        assert!((loss - record.loss).abs() < 1e-13 * loss);

        let cuts = CUTS.map(|cut| cut.name.parse::<Cut>().unwrap());
        let mut workspace = Workspace::new(&rollout, &cuts).unwrap();
        workspace.backward(&model, &rollout).unwrap();
        let mut different = Vec::new();
        for (i, cut) in CUTS.into_iter().enumerate() {
            let ours = tape::backward(&parameters, &record, cut);
            let theirs = workspace.gradient(i);
            let apart = ours.iter().zip(theirs).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let norm = theirs.iter().map(|g| g * g).sum::<f64>().sqrt();
            assert!(apart < 1e-12 * norm, "{}: {:.1e}", cut.name, apart / norm);
            assert!(!different.contains(&ours), "{} cuts nothing", cut.name);
            different.push(ours);
        }
    }
}
