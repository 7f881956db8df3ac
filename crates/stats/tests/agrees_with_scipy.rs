//! Independent implementations give the same numbers.
//!
//! `data/scipy.json` was written once by `examples/golden_scipy.py`. What is exact must agree to
//! rounding; bootstrap ends agree within 2% of the interval's width (3% at n = 8), which is the
//! noise of two finite sets of draws.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

use backcut_stats::bootstrap::mean_interval;
use backcut_stats::correlation::{pearson, spearman, spearman_p};
use backcut_stats::quantile::{mean, standard_deviation};
use backcut_stats::signflip::{SignFlipOptions, Tail, sign_flip};
use backcut_stats::two_sample::{kolmogorov_smirnov, permutation_of_means};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("data/scipy.json")).unwrap()
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap();
    assert!((ours - theirs).abs() <= 1e-10 * (1.0 + theirs.abs()), "{what}: {ours} vs {theirs}");
}

#[test]
fn paired_statistics() {
    let mut worst = 0f64;
    for case in golden()["paired"].as_array().unwrap() {
        let (x, y) = (list(&case["x"]), list(&case["y"]));
        close(mean(&x), &case["mean"], "mean");
        close(standard_deviation(&x), &case["sd"], "standard deviation");
        close(pearson(&x, &y).unwrap(), &case["pearson"], "pearson");
        close(spearman(&x, &y).unwrap(), &case["spearman"], "spearman");
        if !case["spearman_p"].is_null() {
            close(spearman_p(&x, &y, 0, 0).unwrap().0, &case["spearman_p"], "spearman p");
        }
        for (name, tail) in
            [("two-sided", Tail::TwoSided), ("less", Tail::Lower), ("greater", Tail::Upper)]
        {
            let theirs = &case[format!("sign_flip_{name}")];
            if !theirs.is_null() {
                let ours = sign_flip(&x, tail, &SignFlipOptions::default()).unwrap();
                close(ours.p, theirs, name);
            }
        }
        for level in [90u32, 95, 99] {
            let theirs = list(&case[format!("bootstrap_{level}")]);
            let tail = (1.0 - f64::from(level) / 100.0) / 2.0;
            let ours = mean_interval(&x, [tail, 1.0 - tail], 400_000, 5).unwrap();
            for (a, b) in ours.iter().zip(&theirs) {
                let off = (a - b).abs() / (theirs[1] - theirs[0]);
                worst = worst.max(off);
                assert!(off < if x.len() == 8 { 0.03 } else { 0.02 }, "{ours:?} vs {theirs:?}");
            }
        }
    }
    println!("largest bootstrap difference: {:.2}% of the width", 100.0 * worst);
}

#[test]
fn two_sample_statistics() {
    for case in golden()["unpaired"].as_array().unwrap() {
        let (x, y) = (list(&case["x"]), list(&case["y"]));
        let ks = kolmogorov_smirnov(&x, &y).unwrap();
        close(ks.statistic, &case["ks_statistic"], "KS statistic");
        close(ks.p, &case["ks_p"], "KS p");
        if !case["permutation_p"].is_null() {
            let ours = permutation_of_means(&x, &y, 0, 0).unwrap();
            close(ours.p, &case["permutation_p"], "permutation p");
        }
    }
}
