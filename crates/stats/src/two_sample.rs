//! Two unpaired samples: Kolmogorov-Smirnov and a permutation test of the means.
//!
//! For comparing inputs or populations (two sampling streams, two batches of seeds), never for
//! paired arms: pairing is what the family is for.

use serde::Serialize;

use crate::error::{StatsError, require_finite};
use crate::philox::{Philox, Stream};
use crate::quantile::mean;

/// Up to this many ways to split the pooled values, all are visited.
const ALL_SPLITS: u64 = 200_000;

/// Products of sample sizes up to this use the exact distribution of the statistic.
const EXACT_GRID: usize = 4_000_000;

/// Outcome of the two-sample Kolmogorov-Smirnov test.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct KolmogorovSmirnov {
    /// The largest distance between the two distribution functions.
    pub statistic: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// Whether p counts lattice paths (exact without ties) or is the large-sample limit.
    pub exact: bool,
}

/// Outcome of a permutation test of the difference in means.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MeanPermutation {
    /// Mean of the first sample minus mean of the second.
    pub difference: f64,
    /// The two-sided p-value: the share of splits with an absolute difference as large.
    pub p: f64,
    /// Splits visited or drawn.
    pub splits: u64,
    /// The standard error of p when splits were drawn.
    pub monte_carlo_error: Option<f64>,
}

/// The two-sided Kolmogorov-Smirnov test.
pub fn kolmogorov_smirnov(x: &[f64], y: &[f64]) -> Result<KolmogorovSmirnov, StatsError> {
    check(x, y)?;
    let (mut x, mut y) = (x.to_vec(), y.to_vec());
    x.sort_by(f64::total_cmp);
    y.sort_by(f64::total_cmp);
    let (n, m) = (x.len(), y.len());
    // Distances in units of 1 / (n m), so that comparing them is exact.
    let (mut i, mut j, mut largest) = (0, 0, 0);
    while i < n && j < m {
        let at = x[i].min(y[j]);
        i += x[i..].iter().take_while(|v| **v <= at).count();
        j += y[j..].iter().take_while(|v| **v <= at).count();
        largest = largest.max((i * m).abs_diff(j * n));
    }
    let statistic = largest as f64 / (n * m) as f64;
    let exact = n * m <= EXACT_GRID;
    let p = if exact { path_p(n, m, largest) } else { limit_p(n, m, statistic) };
    Ok(KolmogorovSmirnov { statistic, p: p.clamp(0.0, 1.0), exact })
}

/// One minus the share of lattice paths from (0, 0) to (n, m) that stay closer than `largest`.
///
/// Going column by column, `inside[j]` is the probability that a uniformly chosen path passes (i,
/// j) without having left the band; step probabilities keep the numbers in range where path counts
/// would overflow.
fn path_p(n: usize, m: usize, largest: usize) -> f64 {
    if largest == 0 {
        return 1.0;
    }
    let mut inside = vec![0.0; m + 1];
    for i in 0..=n {
        for j in 0..=m {
            // The next value of a uniform path is from the first sample with (left in it) / (left
            // in all).
            let from_x = if i == 0 {
                0.0
            } else {
                inside[j] * (n - i + 1) as f64 / (n + m - i - j + 1) as f64
            };
            let from_y = if j == 0 {
                0.0
            } else {
                inside[j - 1] * (m - j + 1) as f64 / (n + m - i - j + 1) as f64
            };
            let start = if i == 0 && j == 0 { 1.0 } else { 0.0 };
            let outside = (i * m).abs_diff(j * n) >= largest;
            inside[j] = if outside { 0.0 } else { start + from_x + from_y };
        }
    }
    1.0 - inside[m]
}

/// Kolmogorov's limit: 2 * sum of (-1)^(k-1) exp(-2 k^2 d^2 n m / (n + m)).
fn limit_p(n: usize, m: usize, statistic: f64) -> f64 {
    let scaled = statistic * statistic * (n as f64 * m as f64) / (n + m) as f64;
    if scaled < 0.04 {
        // The alternating series has not begun to converge here, and the limit is 1 to 12 digits.
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(k * k) * scaled).exp()
    };
    2.0 * (1..=100).map(term).sum::<f64>()
}

/// The two-sided permutation test of the difference in means.
pub fn permutation_of_means(
    x: &[f64],
    y: &[f64],
    draws: u64,
    seed: u64,
) -> Result<MeanPermutation, StatsError> {
    check(x, y)?;
    let difference = mean(x) - mean(y);
    let pooled: Vec<f64> = x.iter().chain(y).copied().collect();
    let total: f64 = pooled.iter().sum();
    let (n, m) = (x.len() as f64, y.len() as f64);
    let slack = 1e-12 * pooled.iter().map(|v| v.abs()).sum::<f64>();
    // |sum_x / n - (total - sum_x) / m| as a function of the first sample's sum alone.
    let distance = |sum: f64| (sum / n - (total - sum) / m).abs();
    let reach = difference.abs() - slack * (1.0 / n + 1.0 / m);
    if let Some(splits) = binomial(pooled.len() as u64, x.len() as u64) {
        let mut extreme = 0;
        visit_splits(&pooled, x.len(), |sum| extreme += u64::from(distance(sum) >= reach));
        let p = extreme as f64 / splits as f64;
        return Ok(MeanPermutation { difference, p, splits, monte_carlo_error: None });
    }
    let stream = Philox::new(seed, Stream::TwoSample);
    let mut shuffled = pooled.clone();
    let mut extreme = 0;
    for draw in 0..draws {
        shuffled.copy_from_slice(&pooled);
        stream.shuffle(draw, &mut shuffled);
        extreme += u64::from(distance(shuffled[..x.len()].iter().sum()) >= reach);
    }
    let p = (1 + extreme) as f64 / (1 + draws) as f64;
    let error = (p * (1.0 - p) / draws.max(1) as f64).sqrt();
    Ok(MeanPermutation { difference, p, splits: draws, monte_carlo_error: Some(error) })
}

fn check(x: &[f64], y: &[f64]) -> Result<(), StatsError> {
    require_finite("the two-sample test", x)?;
    require_finite("the two-sample test", y)?;
    let found = x.len().min(y.len());
    if found < 2 { Err(StatsError::TooFewSources { found, needed: 2 }) } else { Ok(()) }
}

/// The binomial coefficient while it stays small enough to visit.
fn binomial(n: u64, k: u64) -> Option<u64> {
    let mut result = 1;
    for i in 0..k.min(n - k) {
        result = result * (n - i) / (i + 1);
        if result > ALL_SPLITS {
            return None;
        }
    }
    Some(result)
}

/// Calls `visit` with the sum of every choice of `size` values, in lexicographic order.
fn visit_splits(values: &[f64], size: usize, mut visit: impl FnMut(f64)) {
    let mut chosen: Vec<usize> = (0..size).collect();
    loop {
        visit(chosen.iter().map(|&i| values[i]).sum());
        let Some(i) = (0..size).rfind(|&i| chosen[i] < values.len() - size + i) else { return };
        chosen[i] += 1;
        for k in i + 1..size {
            chosen[k] = chosen[k - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_samples_are_the_extreme_split() {
        let (x, y) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
        let ks = kolmogorov_smirnov(&x, &y).unwrap();
        assert_eq!(ks.statistic, 1.0);
        // 2 of C(6, 3) = 20 paths reach distance 1.
        assert!((ks.p - 0.1).abs() < 1e-15, "{}", ks.p);
        let permutation = permutation_of_means(&x, &y, 0, 0).unwrap();
        assert_eq!((permutation.p, permutation.splits), (0.1, 20));
    }

    #[test]
    fn identical_samples_have_p_one() {
        let x = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(kolmogorov_smirnov(&x, &x).unwrap().p, 1.0);
        assert_eq!(permutation_of_means(&x, &x, 0, 0).unwrap().p, 1.0);
    }

    #[test]
    fn two_values_are_the_fewest_and_both_samples_need_them() {
        assert!(check(&[1.0, 2.0], &[1.0, 2.0]).is_ok());
        for (x, y, found) in [(&[1.0, 2.0][..], &[1.0][..], 1), (&[], &[1.0, 2.0], 0)] {
            assert_eq!(check(x, y), Err(StatsError::TooFewSources { found, needed: 2 }));
        }
    }

    #[test]
    fn splits_are_visited_up_to_the_bound_and_drawn_beyond() {
        assert_eq!(binomial(6, 3), Some(20));
        assert_eq!(binomial(10, 7), Some(120));
        assert_eq!(binomial(25, 22), Some(2300), "the shorter way");
        assert_eq!(binomial(ALL_SPLITS, 1), Some(ALL_SPLITS));
        assert_eq!(binomial(ALL_SPLITS + 1, 1), None);
        assert_eq!(binomial(20, 10), Some(184_756));
        assert_eq!(binomial(21, 10), None);
        let x: Vec<f64> = (0..12).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|v| v * 1.5).collect();
        let drawn = permutation_of_means(&x, &y, 999, 3).unwrap();
        assert_eq!((drawn.splits, drawn.difference), (999, -2.75));
        let want = (drawn.p * (1.0 - drawn.p) / 999.0).sqrt();
        assert_eq!(drawn.monte_carlo_error, Some(want));
        assert!((0.05..0.4).contains(&drawn.p), "{}", drawn.p);
    }

    /// Of the 15 splits of 0, 0, 0, 0, 1, 6 into two and four, those with the 6 among the two (5)
    /// differ by 2.75 or more; no other reaches it.
    #[test]
    fn samples_of_different_sizes_are_compared_by_their_means() {
        let permutation = permutation_of_means(&[0.0, 6.0], &[0.0, 0.0, 0.0, 1.0], 0, 0).unwrap();
        assert_eq!(permutation.difference, 2.75);
        assert_eq!((permutation.p, permutation.splits), (5.0 / 15.0, 15));
    }

    #[test]
    fn the_limit_meets_the_exact_distribution() {
        for largest in [30_000, 40_000, 60_000] {
            let (exact, limit) =
                (path_p(700, 800, largest), limit_p(700, 800, largest as f64 / 560_000.0));
            assert!((exact - limit).abs() < 0.01, "{exact} {limit}");
        }
    }
}
