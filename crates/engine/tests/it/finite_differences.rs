//! Full credit is the derivative: FF equals central differences of the engine's own loss.

use crate::common::{Case, norm, spec};
use backcut_kernels::Isa;
use backcut_oracle::{OracleSpec, Random, directional_derivative, random_direction};

/// Error of FF along random directions, relative to the gradient's norm.
fn worst_error(case: &Case, seed: u64) -> f64 {
    let gradient = case.gradient::<f64>("FF");
    let loss = |parameters: &[f64]| {
        let (_, rollout) = case.rolled_with::<f64>(Isa::detect(), parameters);
        rollout.loss().unwrap()
    };
    let mut random = Random::new(seed);
    let mut worst = 0.0f64;
    for _ in 0..3 {
        let direction = random_direction(gradient.len(), &mut random);
        let found = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum::<f64>();
        let expected = directional_derivative(loss, &case.parameters, &direction);
        worst = worst.max((found - expected).abs() / norm(&gradient));
    }
    worst
}

#[test]
fn full_credit_is_the_derivative_of_the_loss() {
    for seed in 0..16 {
        let case = Case::random(seed, spec(1 + seed as usize % 3, 6));
        let error = worst_error(&case, seed);
        assert!(error < 1e-8, "seed {seed}: {error:.1e}");
    }
}

#[test]
fn under_a_window_too() {
    for seed in 0..6 {
        let window = Some(1 + seed as usize % 3);
        let case = Case::random_caches(seed, OracleSpec { window, ..spec(2, 6) });
        let error = worst_error(&case, seed);
        assert!(error < 1e-8, "seed {seed}: {error:.1e}");
    }
}

#[test]
fn long_rollouts_stay_accurate() {
    let case = Case::random(1, spec(8, 16));
    let error = worst_error(&case, 1);
    assert!(error < 1e-7, "{error:.1e}");
}

/// A prefix is no part of what is differentiated: the derivative of the whole loss differs.
#[test]
fn a_prefix_gives_no_credit() {
    let case = Case::random(1, OracleSpec { prefix: 2, ..spec(2, 6) });
    assert!(worst_error(&case, 1) > 1e-5);
}
