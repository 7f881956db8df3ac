//! Under symmetry the exact test rejects at most as often as it says.
//!
//! Given the absolute values, symmetry makes all sign patterns equally likely, so the rejection
//! rate is a count over all patterns: no simulation, no tolerance.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

use backcut_stats::philox::{Philox, Stream};
use backcut_stats::signflip::{SignFlipOptions, Tail, sign_flip};

fn rejections(magnitudes: &[f64], tail: Tail, level: f64) -> f64 {
    let n = magnitudes.len();
    let rejects = |mask: &u32| {
        let sign = |i: usize| if mask >> i & 1 == 1 { 1.0 } else { -1.0 };
        let values: Vec<f64> = magnitudes.iter().enumerate().map(|(i, v)| sign(i) * v).collect();
        sign_flip(&values, tail, &SignFlipOptions::default()).unwrap().p <= level
    };
    (0..1u32 << n).filter(rejects).count() as f64 / f64::from(1u32 << n)
}

#[test]
fn the_rejection_rate_never_exceeds_the_level() {
    let stream = Philox::new(11, Stream::Simulation);
    for case in 0..4 {
        for n in [4, 7, 10] {
            // Case 0 is rounded, so that many sums tie.
            let draw = |i| -stream.uniform(case, i).ln();
            let round = |v: f64| if case == 0 { (v * 2.0).round() } else { v };
            let magnitudes: Vec<f64> = (0..n).map(|i| round(draw(i))).collect();
            for level in [0.01, 0.05, 0.1, 0.5] {
                for tail in [Tail::TwoSided, Tail::Upper, Tail::Lower] {
                    let rate = rejections(&magnitudes, tail, level);
                    assert!(rate <= level, "{rate} > {level}: {magnitudes:?} {tail:?}");
                }
            }
        }
    }
}

#[test]
fn it_does_reject_when_it_can() {
    let magnitudes = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9];
    assert!(rejections(&magnitudes, Tail::TwoSided, 0.05) > 0.04);
}
