//! The normal distribution function and Student's t tails by integration.
//!
//! Planning and the normal limit need them. `statrs` would bring them with its linear algebra; two
//! series and one Simpson rule are enough, and the tests hold them to published values.

use std::f64::consts::{PI, SQRT_2};

/// The standard normal distribution function.
pub fn normal_cdf(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    0.5 * complementary_error(-x / SQRT_2)
}

/// The value below which the standard normal lies with probability `level`, by bisection.
pub fn normal_quantile(level: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// erfc by the Taylor-type series near zero and a continued fraction in the tails.
fn complementary_error(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - complementary_error(-x);
    }
    if x > 27.0 {
        return 0.0;
    }
    let scale = (-x * x).exp();
    if x < 2.5 {
        // erf x = 2 x exp(-x^2) / sqrt(pi) * sum of (2 x^2)^k / (1 * 3 * ... * (2k + 1))
        let (mut term, mut sum, mut k) = (1.0, 1.0, 0.0);
        while term > 1e-17 * sum {
            k += 1.0;
            term *= 2.0 * x * x / (2.0 * k + 1.0);
            sum += term;
        }
        return 1.0 - 2.0 * x * scale * sum / PI.sqrt();
    }
    // erfc x = exp(-x^2) / (sqrt(pi) (x + (1/2) / (x + 1 / (x + (3/2) / (x + ...)))))
    let mut fraction = x;
    for k in (1..=80).rev() {
        fraction = x + 0.5 * f64::from(k) / fraction;
    }
    scale / (PI.sqrt() * fraction)
}

/// P((Z + shift) / S > t) with Z standard normal and S^2 an independent chi-square over `freedom`.
///
/// With shift 0 this is Student's t tail, otherwise the noncentral one: the integral over S of
/// the normal tail, by Simpson's rule around the mode of S. The density of S is normalised by the
/// same rule, so no gamma function is needed.
pub fn t_tail(t: f64, shift: f64, freedom: f64) -> f64 {
    const STEPS: usize = 2000;
    let low = 1e-9;
    let high = 1.0 + 14.0 / freedom.sqrt();
    let width = (high - low) / STEPS as f64;
    let (mut total, mut mass) = (0.0, 0.0);
    for i in 0..=STEPS {
        let s = low + width * i as f64;
        let simpson = if i == 0 || i == STEPS {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        };
        // ln of s^(freedom - 1) exp(-freedom s^2 / 2), shifted by its value at s = 1.
        let ln_density = (freedom - 1.0) * s.ln() - 0.5 * freedom * (s * s - 1.0);
        let weight = simpson * ln_density.exp();
        mass += weight;
        total += weight * normal_cdf(shift - t * s);
    }
    total / mass
}

/// The t value whose upper tail is `tail`, for a tail below one half, by bisection.
pub fn t_quantile_upper(tail: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while t_tail(high, 0.0, freedom) > tail && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if t_tail(middle, 0.0, freedom) > tail { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_table_values() {
        for (x, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
            (-1.959_963_984_540_054, 0.025),
            (4.0, 0.999_968_328_758_166_9),
            (-6.0, 9.865_876_450_376_946e-10),
        ] {
            assert!((normal_cdf(x) / p - 1.0).abs() < 1e-12, "{x}: {}", normal_cdf(x));
        }
    }

    /// With one degree of freedom Student's t is Cauchy's; with very many it is the normal.
    #[test]
    fn the_first_and_the_last_of_students_distributions_are_known() {
        for t in [0.5f64, 1.0, 2.0] {
            let want = 0.5 - t.atan() / PI;
            assert!((t_tail(t, 0.0, 1.0) - want).abs() < 1e-8, "{t}: {}", t_tail(t, 0.0, 1.0));
        }
        let far = t_tail(1.644_853_626_951_472_7, 0.0, 1e4);
        assert!((far - 0.05).abs() < 2e-5, "{far}");
    }

    #[test]
    fn a_quantile_is_where_the_distribution_has_that_level() {
        assert!(normal_quantile(0.5).abs() < 1e-15);
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
        assert!((normal_quantile(1e-6) + 4.753_424_308_822_899).abs() < 1e-9);
        assert!(normal_cdf(f64::NAN).is_nan());
        assert_eq!((normal_cdf(-50.0), normal_cdf(50.0)), (0.0, 1.0));
    }

    #[test]
    fn student_table_values() {
        for (tail, freedom, t) in [
            (0.05, 3.0, 2.353_363),
            (0.025, 7.0, 2.364_624),
            (0.0125, 27.0, 2.373_417),
            (0.05, 15.0, 1.753_050),
        ] {
            let got = t_quantile_upper(tail, freedom);
            assert!((got - t).abs() < 2e-5, "{tail} {freedom}: {got}");
        }
    }
}
