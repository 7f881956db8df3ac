//! A linear-Gaussian step in which the cost of a memory cut is largest at intermediate noise.
//!
//! A velocity `u ~ N(0, q)` is read now, `y = u + n`, and was read before, `h = u + n'`; both
//! noises have variance `s` and are independent. The policy estimates `w y + c h`. Its gain on the
//! present reading is the best one without memory, `w = q / (q + s)`; its gain on the stored
//! reading starts at `c = 0` and is the only parameter that learns. With full memory credit it
//! takes one gradient step on
//!
//! ```text
//! L(c) = E (u - w y - c h)^2,     L'(0) = -2 E[(u - w y) h] = -2 q s / (q + s),     L'' = 2 (q + s)
//! ```
//!
//! of size `eta / L''`; with the cut, `c` receives nothing and stays. A step of size `eta / L''` on
//! a quadratic gains `eta (2 - eta) L'^2 / (2 L'')`, so the gap between the two losses is
//!
//! ```text
//! R(s) = eta (2 - eta) q^2 s^2 / (q + s)^3
//! ```
//!
//! which rises as `s^2`, falls as `1/s`, and is largest at `s = 2q`. Little noise leaves memory
//! nothing to add; much noise makes the stored reading as worthless as the present one. The step
//! size depends on `s` and one parameter learns: sufficient conditions, not a model of training by
//! AdamW.

/// The gap by the formula.
pub fn gap(eta: f64, q: f64, s: f64) -> f64 {
    eta * (2.0 - eta) * q * q * s * s / (q + s).powi(3)
}

/// Where the formula is largest.
pub fn worst_noise(q: f64) -> f64 {
    2.0 * q
}

/// The gap computed from second moments: build the covariance of `(u, y, h)`, take the step,
/// subtract.
pub fn gap_from_moments(eta: f64, q: f64, s: f64) -> f64 {
    // Rows and columns u, y, h.
    let covariance = [[q, q, q], [q, q + s, q], [q, q, q + s]];
    step_gap(eta, &covariance)
}

/// One step on `c` from 0, with everything taken from second moments of `(u, y, h)`.
fn step_gap(eta: f64, moments: &[[f64; 3]; 3]) -> f64 {
    let w = moments[0][1] / moments[1][1];
    let loss = |c: f64| {
        let v = [1.0, -w, -c];
        let quadratic = |i: usize, j: usize| v[i] * v[j] * moments[i][j];
        (0..9).map(|ij| quadratic(ij / 3, ij % 3)).sum::<f64>()
    };
    let slope = -2.0 * (moments[0][2] - w * moments[1][2]);
    let curvature = 2.0 * moments[2][2];
    let c = -eta / curvature * slope;
    loss(0.0) - loss(c)
}

/// The noise at which `f` is largest between two ends, by golden-section search.
pub fn maximise(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    while high - low > 1e-9 * (low.abs() + high.abs()) {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if f(a) < f(b) {
            low = a;
        } else {
            high = b;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use backcut_kernels::random::Stream;

    use super::*;

    /// The gap computed from `draws` simulated triples, with their sample moments.
    fn gap_from_draws(eta: f64, q: f64, s: f64, draws: usize, seed: u64) -> f64 {
        let mut normals = Stream::new(seed, "construction").at(0, 0);
        let mut moments = [[0.0; 3]; 3];
        for _ in 0..draws {
            let u = q.sqrt() * normals.normal();
            let y = u + s.sqrt() * normals.normal();
            let h = u + s.sqrt() * normals.normal();
            let triple = [u, y, h];
            for (row, a) in moments.iter_mut().zip(triple) {
                row.iter_mut().zip(triple).for_each(|(sum, b)| *sum += a * b / draws as f64);
            }
        }
        step_gap(eta, &moments)
    }

    #[test]
    fn the_formula_is_what_one_step_does() {
        for eta in [0.1, 0.5, 1.0, 1.7] {
            for q in [0.01, 0.3, 2.0] {
                for s in [0.0, 1e-3, 0.04, 0.6, 9.0] {
                    let (want, got) = (gap(eta, q, s), gap_from_moments(eta, q, s));
                    assert!((got - want).abs() <= 1e-13 * q, "{eta} {q} {s}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn simulated_readings_agree_with_the_formula() {
        // Independent repetitions, so that their spread says how close their mean must lie.
        const REPEATS: u64 = 24;
        for (q, s) in [(0.04, 0.01), (0.04, 0.08), (0.04, 0.4)] {
            let gaps: Vec<f64> =
                (0..REPEATS).map(|seed| gap_from_draws(0.5, q, s, 20_000, seed)).collect();
            let mean = backcut_stats::quantile::mean(&gaps);
            let spread = backcut_stats::quantile::standard_deviation(&gaps);
            let standard_error = spread / (REPEATS as f64).sqrt();
            let want = gap(0.5, q, s);
            assert!(standard_error < 0.02 * want, "{q} {s}: too few draws to tell");
            assert!((mean - want).abs() < 4.0 * standard_error, "{q} {s}: {mean} {want}");
        }
    }

    #[test]
    fn the_gap_is_largest_at_twice_the_prior_variance() {
        for q in [0.01, 0.04, 1.0] {
            let at = maximise(|s| gap_from_moments(0.5, q, s), 1e-6 * q, 100.0 * q);
            // A maximum is flat: its place is known to the square root of the value's rounding.
            assert!((at / worst_noise(q) - 1.0).abs() < 1e-5, "{q}: {at}");
        }
    }
}
