//! The normal limit, for very many units.
//!
//! Work with draws grows with units times draws: a million sources would take an hour. By then both
//! distributions that are drawn from have long been normal: the bootstrap's mean with the variance
//! of the units, the sign-flipped sum with the sum of their squares. So above [`LARGE`] the limit
//! is taken itself, a report says so, and its `draws` and `patterns` are 0.

use crate::bootstrap::Units;
use crate::normal::{normal_cdf, normal_quantile};
use crate::quantile::mean;
use crate::signflip::{SignFlip, Tail};

/// With more units than this nothing is drawn. Skewness moves an end of an interval by about
/// (skewness / 6) / 100 standard errors then, below what 100,000 draws can resolve in a tail.
pub const LARGE: usize = 10_000;

/// Levels of the limit of the bootstrap's means, or of their ratio by its derivative (delta
/// method).
pub(crate) fn quantiles(
    units: &Units,
    values: &[f64],
    denominators: Option<&[f64]>,
    levels: &[f64],
) -> Vec<f64> {
    let (estimate, error) = match denominators {
        None => (mean(values), units.standard_error(values)),
        Some(below) => {
            let center = mean(below);
            let ratio = mean(values) / center;
            let pulls: Vec<f64> =
                values.iter().zip(below).map(|(a, b)| (a - ratio * b) / center).collect();
            (ratio, units.standard_error(&pulls))
        }
    };
    levels.iter().map(|level| estimate + error * normal_quantile(*level)).collect()
}

/// The sign-flip test on the sum of finite `values`.
pub(crate) fn sign_flip(values: &[f64], tail: Tail) -> SignFlip {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
    let score = if squares > 0.0 { sum / squares.sqrt() } else { 0.0 };
    let p = match tail {
        Tail::TwoSided => 2.0 * normal_cdf(-score.abs()),
        Tail::Upper => normal_cdf(-score),
        Tail::Lower => normal_cdf(score),
    };
    SignFlip { p, extreme: 0, patterns: 0, tail, monte_carlo_error: None, floor: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Units;
    use crate::signflip::{self, SignFlipOptions};

    /// Skewed values of 2,000 units, at which both ways can be gone.
    fn values() -> Vec<f64> {
        (0..2000).map(|i| (f64::from(i * 7919 % 2000) / 800.0).exp() - 4.42).collect()
    }

    #[test]
    fn draws_approach_the_limit() {
        let values = values();
        let units = Units::plain(values.len());
        let below: Vec<f64> = values.iter().map(|v| 3.0 + 0.1 * v * v).collect();
        let levels = [0.025, 0.5, 0.975];
        let mut drawn = units.means(&[values.clone(), below.clone()], 20_000, 1).unwrap();
        let error = units.standard_error(&values);
        let found = crate::quantile::quantiles(&mut drawn[0].clone(), &levels);
        for (limit, drawn) in quantiles(&units, &values, None, &levels).iter().zip(found) {
            assert!((limit - drawn).abs() < 0.1 * error, "{limit} {drawn} {error}");
        }
        let mut ratios: Vec<f64> = drawn[0].iter().zip(&drawn[1]).map(|(a, b)| a / b).collect();
        drawn.clear();
        let found = crate::quantile::quantiles(&mut ratios, &levels);
        let limit = quantiles(&units, &values, Some(&below), &levels);
        for (limit, drawn) in limit.iter().zip(&found) {
            assert!((limit - drawn).abs() < 0.05 * (found[2] - found[0]), "{limit} {drawn}");
        }
    }

    #[test]
    fn the_limit_of_a_ratio_is_that_of_a_mean_over_a_constant_and_exact_for_multiples() {
        let units = Units::plain(5);
        let values = [1.0, 2.0, 4.0, 7.0, 11.0];
        let levels = [0.025, 0.5, 0.975];
        let of_mean = quantiles(&units, &values, None, &levels);
        let of_ratio = quantiles(&units, &values, Some(&[4.0; 5]), &levels);
        for (mean, ratio) in of_mean.iter().zip(&of_ratio) {
            assert!((mean / 4.0 - ratio).abs() < 1e-14, "{mean} {ratio}");
        }
        assert!((of_mean[1] - 5.0).abs() < 1e-14, "{of_mean:?}");
        assert!(of_mean[0] < of_mean[1] && of_mean[1] < of_mean[2], "{of_mean:?}");
        let tripled = values.map(|v| 3.0 * v);
        assert_eq!(quantiles(&units, &tripled, Some(&values), &levels), [3.0; 3]);
    }

    #[test]
    fn flipped_signs_approach_the_limit() {
        let values: Vec<f64> = values().iter().map(|v| v + 0.1).collect();
        for tail in [Tail::TwoSided, Tail::Upper, Tail::Lower] {
            let options = SignFlipOptions { draws: 20_000, ..SignFlipOptions::default() };
            let drawn = signflip::sign_flip(&values, tail, &options).unwrap();
            let limit = sign_flip(&values, tail);
            assert!((drawn.p - limit.p).abs() < 0.02, "{} {}", drawn.p, limit.p);
        }
        assert_eq!(sign_flip(&[0.0, 0.0], Tail::TwoSided).p, 1.0);
    }
}
