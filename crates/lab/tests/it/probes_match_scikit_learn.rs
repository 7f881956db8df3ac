//! The nested ridge probe against scikit-learn's on the same data and folds (`data/ridge.py`).

use backcut_lab::measure::probe::{Folds, STRENGTHS, Samples, score};
use serde_json::Value;

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn counts(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

fn samples(case: &Value, values: &str, width: &str) -> Samples {
    let count = |name: &str| case[name].as_u64().unwrap() as usize;
    Samples {
        trajectories: count("trajectories"),
        steps: count("steps"),
        width: count(width),
        values: floats(&case[values]).iter().map(|&v| v as f32).collect(),
    }
}

#[test]
fn scores_and_chosen_strengths_are_scikit_learns() {
    let golden: Value = serde_json::from_str(include_str!("data/ridge.json")).unwrap();
    assert_eq!(floats(&golden["strengths"]), STRENGTHS);
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let (x, y) = (samples(case, "x", "width"), samples(case, "y", "outputs"));
        let folds = Folds::new(counts(&case["outer"]), counts(&case["inner"])).unwrap();
        let got = score(&x, &y, &folds).unwrap().unwrap();
        let (name, want) = (&case["name"], &case["want"]);
        assert_eq!(got.strengths.to_vec(), floats(&want["strengths"]), "{name}");
        let want_r2 = want["r2"].as_f64().unwrap();
        assert!((got.r2 - want_r2).abs() <= 1e-9 * want_r2.abs(), "{name}: {} {want_r2}", got.r2);
        for (got, want) in got.folds.iter().zip(floats(&want["folds"])) {
            assert!((got - want).abs() <= 1e-9 * want.abs().max(0.1), "{name}: {got} {want}");
        }
    }
}

#[test]
fn a_constant_target_has_no_score_and_says_so() {
    let (trajectories, steps) = (30, 2);
    let values = |f: &dyn Fn(usize) -> f32| (0..trajectories * steps).map(f).collect();
    let x = Samples { trajectories, steps, width: 1, values: values(&|i| i as f32) };
    let y = Samples { trajectories, steps, width: 1, values: values(&|_| 2.5) };
    let folds = Folds::fixed(trajectories).unwrap();
    let why = score(&x, &y, &folds).unwrap().unwrap_err();
    assert!(why.contains("does not vary"), "{why}");
}

#[test]
fn folds_hold_out_whole_trajectories_evenly() {
    let folds = Folds::fixed(256).unwrap();
    let mut cells = [[0; 5]; 5];
    for trajectory in 0..256 {
        let (outer, inner) = folds.of(trajectory);
        cells[outer][inner] += 1;
    }
    assert!(cells.as_flattened().iter().all(|n| (10..=11).contains(n)), "{cells:?}");
    assert_eq!(folds, Folds::fixed(256).unwrap());
    assert!(Folds::fixed(24).is_err(), "24 trajectories cannot fill 25 cells");
}
