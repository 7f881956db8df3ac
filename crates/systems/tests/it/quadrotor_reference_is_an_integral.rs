//! Reference positions are the integral of reference velocities, which are sinusoids in their
//! ranges.

use backcut_systems::quadrotor::{DT, PANEL_ROWS, QuadrotorConfig};

const TIMES: usize = 43;

/// Position and velocity over time of every axis of the panel.
fn axes() -> Vec<(Vec<f64>, Vec<f64>)> {
    let panel = QuadrotorConfig::default().check().unwrap().panel(0, PANEL_ROWS);
    let axis = |values: &[f64], i: usize| -> Vec<f64> {
        let row = &values[i / 3 * TIMES * 3..][..TIMES * 3];
        row.iter().skip(i % 3).step_by(3).copied().collect()
    };
    (0..3 * PANEL_ROWS)
        .map(|i| (axis(&panel.reference_position, i), axis(&panel.reference_velocity, i)))
        .collect()
}

#[test]
fn position_starts_at_zero_and_integrates_velocity() {
    for (position, velocity) in axes() {
        assert_eq!(position[0], 0.0);
        let mut integral = 0.0;
        for i in (2..TIMES).step_by(2) {
            // Simpson: the error per metre travelled is below (w dt)^4 / 180 = 2.3e-5.
            integral += DT / 3.0 * (velocity[i - 2] + 4.0 * velocity[i - 1] + velocity[i]);
            assert!((position[i] - integral).abs() < 4e-6, "{} and {integral}", position[i]);
        }
    }
}

#[test]
fn amplitudes_and_frequencies_fill_their_ranges() {
    let (mut amplitudes, mut frequencies) = (Vec::new(), Vec::new());
    for (_, v) in axes() {
        // A sinusoid obeys v(i+1) + v(i-1) = 2 cos(w dt) v(i); take the i of largest |v|.
        let i = (1..TIMES - 1).max_by(|&a, &b| v[a].abs().total_cmp(&v[b].abs())).unwrap();
        let step = ((v[i + 1] + v[i - 1]) / (2.0 * v[i])).acos();
        let turned = (v[i + 1] - v[i - 1]) / (2.0 * step.sin());
        frequencies.push(step / DT / std::f64::consts::TAU);
        amplitudes.push(v[i].hypot(turned));
    }
    let range =
        |x: &[f64]| x.iter().fold((f64::MAX, f64::MIN), |(lo, hi), &x| (lo.min(x), hi.max(x)));
    let (lo, hi) = range(&amplitudes);
    assert!(lo > 0.1 - 1e-9 && lo < 0.102 && hi > 0.298 && hi < 0.3 + 1e-9, "{lo} to {hi} m/s");
    let (lo, hi) = range(&frequencies);
    assert!(lo > 0.3 - 1e-9 && lo < 0.305 && hi > 0.795 && hi < 0.8 + 1e-9, "{lo} to {hi} Hz");
}

#[test]
fn offsets_have_the_configured_spread_and_no_mean() {
    let spread = [0.04, 0.04, 0.08, 0.04];
    let panel = QuadrotorConfig::default().check().unwrap().panel(0, PANEL_ROWS);
    for column in 0..12 {
        let values: Vec<f64> =
            panel.initial_state.iter().skip(column).step_by(12).copied().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let std = (values.iter().map(|x| x * x).sum::<f64>() / n).sqrt();
        let want = spread[column / 3];
        // Five standard errors of each.
        assert!(mean.abs() < 5.0 * want / n.sqrt(), "column {column}: mean {mean}");
        assert!((std / want - 1.0).abs() < 5.0 / (2.0 * n).sqrt(), "column {column}: {std}");
    }
}
