//! Interventions on systems that are no quadrotor: a policy that fails without its memory,
//! averages, other probes.

use std::sync::{Arc, LazyLock};

use backcut_engine::{Init, Program, Rollout, Trace};
use backcut_lab::measure::{Finding, Measurement, Subject, measure};
use backcut_lab::training::{Moments, Optimizer, State};
use backcut_systems::{BatchKey, Catalogue, SampleError, Stream, System, SystemChoice};
use serde_json::json;

static OPTIMIZER: LazyLock<Optimizer> = LazyLock::new(Optimizer::default);

fn state(params: Vec<f32>) -> State<f32> {
    State { update: 0, moments: Moments::zeros(params.len()), params }
}

fn subject<'a>(system: &'a dyn System<f32>, state: &'a State<f32>) -> Subject<'a> {
    let key = BatchKey { seed: 1, stream: Stream::A, update: 0 };
    Subject { system, state, optimizer: &OPTIMIZER, key }
}

fn find<'a>(findings: &'a [Finding], quantity: &str) -> &'a Finding {
    findings.iter().find(|f| f.quantity == quantity).unwrap()
}

/// Adds the even average of a table's rows so far to its state, which must stay below 5.
struct Averaging(Arc<Program>);

const STEPS: usize = 4;

impl Averaging {
    fn new() -> Self {
        let t = Trace::new();
        let x = t.state("x", 1);
        let value = t.step_row("values", STEPS, 1, Init::Zeros);
        let zero = t.constant(0.0, 1);
        let next = t.tap("next", x + t.attend("memory", zero, value * 0.0, value, 1));
        t.next("x", next);
        t.bound("x", next, 5.0);
        t.loss(next.square());
        Self(Arc::new(t.compile().unwrap()))
    }
}

impl System<f32> for Averaging {
    fn program(&self) -> &Arc<Program> {
        &self.0
    }
    fn steps(&self) -> usize {
        STEPS
    }
    fn batch_rows(&self) -> usize {
        1
    }
    fn fill_batch(&self, _: BatchKey, rollout: &mut Rollout<f32>) -> Result<(), SampleError> {
        rollout.initial_mut("x").unwrap().fill(0.0);
        Ok(())
    }
    fn panel_group(&self) -> usize {
        8
    }

    fn panel_rows(&self) -> usize {
        11
    }
    fn fill_panel(&self, first: usize, rollout: &mut Rollout<f32>) -> Result<(), SampleError> {
        // Nine start low and stay inside whatever is added; two do not.
        for (row, x) in rollout.initial_mut("x").unwrap().iter_mut().enumerate() {
            *x = if first + row < 9 { -4.0 } else { 0.0 };
        }
        Ok(())
    }
    fn row_errors(&self, rollout: &Rollout<f32>, errors: &mut [f64]) {
        let next = self.0.tap("next").unwrap();
        let last = rollout.value(next, STEPS - 1);
        errors.iter_mut().zip(last).for_each(|(e, x)| *e = f64::from(x * x));
    }
}

#[test]
fn a_policy_that_fails_without_memory_has_no_error_and_a_note() {
    let system = Averaging::new();
    // Averages 0, 0, 0, 2 with all history; with the last row alone 0, 0, 0, 8.
    let state = state(vec![0.0, 0.0, 0.0, 8.0]);
    let subject = subject(&system, &state);
    let findings = measure(&Measurement::Masking { windows: vec![1, 2] }, &subject, None).unwrap();
    let of = |quantity: &str, part: &str| {
        findings.iter().find(|f| f.quantity == quantity && f.part == part).unwrap()
    };
    let mean = |near: f64, far: f64| (9.0 * near * near + 2.0 * far * far) / 11.0;
    let close = |f: &Finding, want: f64| (f.value.unwrap() - want).abs() < 1e-6;
    assert!(close(of("panel.error", "all"), mean(-2.0, 2.0)));
    assert!(close(of("masking.error", "w=2"), mean(0.0, 4.0)));
    for quantity in ["masking.error", "masking.change", "masking.relative"] {
        let failed = of(quantity, "w=1");
        assert_eq!(failed.value, None);
        assert!(failed.note.contains("trajectory 9, step 3"), "{}", failed.note);
    }
}

#[test]
fn a_relative_change_of_nothing_is_undefined() {
    let system = Averaging::new();
    // Nine trajectories end where they started, at -4 + 4 = 0.
    let state = state(vec![1.0, 1.0, 1.0, 1.0]);
    let findings =
        measure(&Measurement::Masking { windows: vec![1] }, &subject(&system, &state), None);
    let findings = findings.unwrap();
    assert_eq!(find(&findings, "masking.change").value, Some(0.0));
    let relative = find(&findings, "masking.relative");
    assert_eq!(relative.value, None);
    assert!(relative.note.contains("trajectory 0"), "{}", relative.note);
}

#[test]
fn tracks_follow_single_trajectories() {
    let system = Averaging::new();
    let state = state(vec![0.0, 0.0, 0.0, 8.0]);
    let subject = subject(&system, &state);
    let track = |values: &[&str], rows: &[usize], columns| {
        let values = values.iter().map(|name| (*name).to_owned()).collect();
        measure(&Measurement::Track { values, rows: rows.to_vec(), columns }, &subject, None)
    };
    let found = track(&["x", "next"], &[10, 0], None).unwrap();
    assert_eq!(found.len(), 2 * 2 * STEPS);
    let at = |name: &str, row, t| {
        let part = backcut_lab::measure::track::part(name, 0, row, t);
        found.iter().find(|f| f.part == part).unwrap().value.unwrap()
    };
    let of = |name: &str, row| (0..STEPS).map(|t| at(name, row, t)).collect::<Vec<f64>>();
    assert_eq!(of("x", 10), [0.0, 0.0, 0.0, 0.0]);
    assert_eq!(of("next", 10), [0.0, 0.0, 0.0, 2.0]);
    assert_eq!(of("next", 0), [-4.0, -4.0, -4.0, -2.0]);
    for (wrong, says) in [
        (track(&["y"], &[0], None), "`y` is no tap, state or input"),
        (track(&["x"], &[11], None), "no trajectory 11; its last is 10"),
        (track(&["x"], &[0], Some(2)), "`x` has 1 columns, not 2"),
        (track(&["x"], &[], None), "a trajectory at least"),
    ] {
        let error = wrong.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn attention_by_age_counts_the_queries_that_have_one() {
    let system = Averaging::new();
    let state = state(vec![0.0; 4]);
    let found =
        measure(&Measurement::Attention { ages: true }, &subject(&system, &state), None).unwrap();
    let of_age = |part: &str| {
        let found = found.iter().find(|f| f.quantity == "attention.age" && f.part == part);
        found.unwrap().value.unwrap()
    };
    // Even attention: query t gives 1/(t + 1) to each of its positions, t = 1, 2, 3.
    let each = |from: usize| (from..STEPS).map(|t| 1.0 / (t + 1) as f64).sum::<f64>();
    for (part, want) in [
        ("memory age 0", each(1) / 3.0),
        ("memory age 1", each(1) / 3.0),
        ("memory age 2-3", each(2) / 2.0 + each(3)),
    ] {
        assert!((of_age(part) - want).abs() < 1e-6, "{part}: {} {want}", of_age(part));
    }
}

#[test]
fn probes_name_the_taps_of_any_system() {
    let catalogue = Catalogue::builtin();
    let named = |[target, token, stored]: [&str; 3]| Measurement::Probe {
        common: false,
        target: Some(target.to_owned()),
        token: Some(token.to_owned()),
        stored: Some(stored.to_owned()),
    };
    for (system, policy, taps) in [
        ("cart-pole", "attention", ["true_velocity", "token", ".stored"]),
        ("cart-pole", "gru", ["next_state", "token", ".h"]),
        ("delayed-cue", "attention", ["target", "token", ".stored"]),
        ("delayed-cue", "lstm", ["next_state", "token", ".h"]),
    ] {
        let settings = json!({ "policy": policy, "batch": 8 }).as_object().cloned().unwrap();
        let built = catalogue.build(&SystemChoice::new(system, settings)).unwrap();
        let state = state(built.system().program().layout().initialise(3));
        let subject = subject(built.system(), &state);
        let findings = measure(&named(taps), &subject, None).unwrap();
        assert!(findings.len() >= 2, "{system}, {policy}: {findings:?}");
        assert!(findings.iter().any(|f| f.part.ends_with(taps[2]) && f.value.is_some()));
        let nothing = [taps[0], taps[1], ".nothing"];
        let error = measure(&named(nothing), &subject, None).unwrap_err().to_string();
        assert!(error.contains("`.nothing`") && error.contains("token"), "{error}");
    }
}
