//! A NaN or an infinity stops a pass with the first instruction, step and row named, and in the
//! backward the edge along which it came.

use std::sync::Arc;

use backcut_engine::{
    BackwardError, Cut, Fault, ForwardSpec, Init, Model, Phase, Program, RollError, Rollout, Trace,
    Var, Workspace,
};

const ROWS: usize = 3;
const STEPS: usize = 4;

/// A body that a linear policy moves; `cost` makes a loss of the action, the input and the body.
fn program(cost: impl for<'t> Fn(Var<'t>, Var<'t>, Var<'t>) -> Var<'t>) -> Arc<Program> {
    let t = Trace::new();
    let body = t.state("body", 2);
    let x = t.input("x", 2);
    let action = t.linear("policy", t.concat(&[body, x]), 2).tanh();
    t.next("body", body * 0.5 + action);
    t.loss(cost(action, x, body).sum());
    Arc::new(t.compile().unwrap())
}

fn model(program: &Arc<Program>) -> Model<f64> {
    Model::new(program, program.layout().initialise(3)).unwrap()
}

/// A rollout whose inputs are all 0.5 but for one number.
fn rollout(program: &Arc<Program>, step: usize, row: usize, value: f64) -> Rollout<f64> {
    let mut rollout = Rollout::new(program, ROWS, STEPS, ForwardSpec::default()).unwrap();
    let x = rollout.input_mut("x").unwrap();
    x.fill(0.5);
    x[(step * ROWS + row) * 2 + 1] = value;
    rollout
}

fn forward_fault(program: &Arc<Program>, value: f64) -> Fault {
    match model(program).roll(&mut rollout(program, 2, 1, value)).unwrap_err() {
        RollError::NonFinite(fault) => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn a_bad_input_is_named() {
    let program = program(|action, x, _| action.square() + x);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let fault = forward_fault(&program, value);
        assert_eq!(fault.phase, Phase::Forward);
        assert_eq!(fault.instruction, "input `x`");
        assert_eq!((fault.step, fault.row, fault.column), (2, 1, 1));
        assert!(fault.value.to_bits() == value.to_bits());
    }
}

/// tanh makes a finite loss of an infinite input: only a checked roll sees it.
#[test]
fn an_infinity_that_saturates_is_found_when_asked_for() {
    let program = program(|action, _, _| action.square());
    let mut rollout = rollout(&program, 2, 1, f64::INFINITY);
    let model = model(&program);
    assert!(model.roll(&mut rollout).is_ok());
    let error = model.roll_checked(&mut rollout).unwrap_err();
    assert!(error.to_string().contains("input `x`, step 2, trajectory 1"), "{error}");
    assert!(rollout.loss().is_none());
}

#[test]
fn the_operation_that_made_it_is_named() {
    let logarithm = program(|action, x, _| action * x.ln());
    let fault = forward_fault(&logarithm, -1.0);
    assert!(fault.instruction.starts_with("ln `"), "{}", fault.instruction);
    assert_eq!((fault.step, fault.row, fault.column), (2, 1, 1));

    let quotient = program(|action, x, _| action / x);
    let fault = forward_fault(&quotient, 0.0);
    assert!(fault.instruction.starts_with("div `"), "{}", fault.instruction);
    assert_eq!((fault.step, fault.row, fault.column), (2, 1, 1));

    let root = program(|action, x, _| action + x.sqrt());
    let fault = forward_fault(&root, -0.25);
    assert!(fault.instruction.starts_with("sqrt `"), "{}", fault.instruction);
    let said = fault.to_string();
    assert!(said.contains("step 2, trajectory 1, column 1"), "{said}");
}

#[test]
fn a_bad_parameter_is_named_by_the_site_that_uses_it() {
    let program = program(|action, _, _| action.square());
    let mut model = model(&program);
    let mut values = model.values().to_vec();
    values[0] = f64::NAN;
    model.load(&values).unwrap();
    let RollError::NonFinite(fault) = model.roll(&mut rollout(&program, 0, 0, 0.5)).unwrap_err()
    else {
        panic!("not a fault")
    };
    assert_eq!(fault.instruction, "linear `policy`");
    assert_eq!((fault.step, fault.row), (0, 0));
}

#[test]
fn a_bad_condition_is_named_as_such() {
    let t = Trace::new();
    let points = t.condition_input("points", 2, 1);
    let (key, value) = (t.linear("k", points.ln(), 2), t.linear("v", points, 2));
    let query = t.linear("q", t.input("x", 1), 2);
    t.loss(t.cross("cross", query, key, value, 1).sum());
    let program = Arc::new(t.compile().unwrap());
    let mut rollout = Rollout::new(&program, 2, 3, ForwardSpec::default()).unwrap();
    rollout.input_mut("x").unwrap().fill(1.0);
    rollout.condition_input_mut("points").unwrap().copy_from_slice(&[1.0, 1.0, 1.0, -1.0]);
    let RollError::NonFinite(fault) = model(&program).roll(&mut rollout).unwrap_err() else {
        panic!("not a fault")
    };
    assert!(fault.instruction.starts_with("condition's ln `"), "{}", fault.instruction);
    assert_eq!(fault.row, 1);
}

#[test]
fn a_finite_loss_with_an_infinite_derivative_is_named_in_the_backward() {
    // d sqrt(y) / dy = 1 / (2 sqrt(y)) is infinite at y = 0, where the loss is finite.
    let t = Trace::new();
    let x = t.input("x", 1);
    let y = t.linear_with("scale", x, 1, Init::Ones, None);
    t.loss(y.sqrt());
    let program = Arc::new(t.compile().unwrap());
    let model = model(&program);
    let mut rollout = Rollout::new(&program, ROWS, STEPS, ForwardSpec::default()).unwrap();
    let x = rollout.input_mut("x").unwrap();
    x.fill(0.25);
    x[ROWS + 2] = 0.0;
    assert!(model.roll(&mut rollout).unwrap().is_finite());
    let mut workspace = Workspace::new(&rollout, &[Cut::FF]).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    assert!(!workspace.gradient(0)[0].is_finite());
    let BackwardError::NonFinite(fault) = workspace.backward_checked(&model, &rollout).unwrap_err()
    else {
        panic!("not a fault")
    };
    assert_eq!(fault.phase, Phase::Backward);
    assert_eq!(fault.instruction, "linear `scale`");
    assert_eq!((fault.step, fault.row), (1, 2));
    let edge = fault.edge.unwrap();
    assert!(edge.starts_with("the edge from sqrt `"), "{edge}");
}

/// The query of step 2 reads positions 0 and 1 alike and its own not at all: its adjoint overflows
/// on the way to the stored keys, and nowhere else.
#[test]
fn a_memory_edge_is_named() {
    let t = Trace::new();
    let project = |name: &str| t.linear_with(name, t.input(name, 1), 1, Init::Ones, None);
    let (query, key, value) = (project("q"), project("k"), project("v"));
    t.loss(t.attend("cache", query, key, value, 1) * t.input("weight", 1));
    let program = Arc::new(t.compile().unwrap());
    let model = model(&program);
    let mut rollout = Rollout::new(&program, 1, 3, ForwardSpec::default()).unwrap();
    let inputs = [
        ("q", [1e150, 1e150, 1e150]),
        ("k", [1e-150, 1e-150, -2e-147]),
        ("v", [1.0, 2.0, 3.0]),
        ("weight", [0.0, 0.0, 1e200]),
    ];
    for (name, values) in inputs {
        rollout.input_mut(name).unwrap().copy_from_slice(&values);
    }
    assert!(model.roll(&mut rollout).unwrap().is_finite());
    let mut workspace = Workspace::new(&rollout, &[Cut::FF]).unwrap();
    let BackwardError::NonFinite(fault) = workspace.backward_checked(&model, &rollout).unwrap_err()
    else {
        panic!("not a fault")
    };
    assert_eq!(fault.instruction, "linear `k`");
    assert_eq!(fault.step, 1);
    assert_eq!(fault.edge.as_deref(), Some("memory edge `cache` from later steps to step 1"));
    // Cut the edge, and nothing bad arrives.
    let mut detached = Workspace::new(&rollout, &[Cut::FD]).unwrap();
    detached.backward_checked(&model, &rollout).unwrap();
}
