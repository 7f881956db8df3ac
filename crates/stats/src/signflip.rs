//! The sign-flip permutation test on the source mean, and the sign test.
//!
//! If the sources' values are symmetric around zero, every pattern of signs was equally likely. The
//! p-value is the share of patterns whose sum is at least as extreme as the observed one.
//!
//! All 2^n patterns are counted without visiting them: the values are split into two halves, each
//! half's 2^(n/2) signed sums are tabled and sorted, and pairs beyond the threshold are counted
//! with two pointers. Beyond speed (n = 24 takes under a millisecond) this bounds rounding: every
//! sum is made of at most n + 1 additions in a fixed order, whereas walking the patterns by
//! flipping one sign at a time drifts over millions of steps.
//!
//! Ties are common with rounded data and the observed pattern is itself one of the patterns, so the
//! comparison allows [`TIE_TOLERANCE`] times the sum of absolute values.

use serde::Serialize;

use crate::error::{StatsError, require_finite};
use crate::philox::{Philox, Stream};

/// Sums closer than this share of the sum of absolute values count as tied.
pub const TIE_TOLERANCE: f64 = 1e-12;

/// The largest n for which all patterns can be counted (each half-table then holds 2^20 sums).
pub const MAX_EXACT: usize = 40;

/// Which patterns are as extreme as the observed one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tail {
    /// Sums at least as far from zero.
    TwoSided,
    /// Sums at least as large.
    Upper,
    /// Sums at least as small.
    Lower,
}

/// When to count all patterns and when to draw them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignFlipOptions {
    /// Up to this many sources, all patterns are counted.
    pub exact_up_to: usize,
    /// Above it, this many patterns are drawn.
    pub draws: u64,
    /// The seed of those draws.
    pub seed: u64,
}

impl Default for SignFlipOptions {
    fn default() -> Self {
        Self { exact_up_to: 24, draws: 1_000_000, seed: 0 }
    }
}

/// The outcome of a sign-flip test.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SignFlip {
    /// The p-value: extreme / patterns, or (1 + extreme) / (1 + patterns) when drawn.
    pub p: f64,
    /// Patterns as extreme as the observed one.
    pub extreme: u64,
    /// Patterns counted or drawn; 0 if the normal limit was taken ([`crate::limit`]).
    pub patterns: u64,
    /// Which patterns count as extreme.
    pub tail: Tail,
    /// The standard error of p when patterns were drawn; absent when all were counted.
    pub monte_carlo_error: Option<f64>,
    /// The smallest p the test can give with this many sources.
    pub floor: f64,
}

impl SignFlip {
    /// What a sentence calls it: only a test that counts all patterns is exact.
    pub fn called(&self) -> &'static str {
        match (self.patterns, self.monte_carlo_error) {
            (0, _) => "the sign-flip test, in its normal limit,",
            (_, Some(_)) => "the sign-flip test, on drawn patterns,",
            _ => "the exact test",
        }
    }
}

/// Runs the test on the sum (equivalently the mean) of `values`.
pub fn sign_flip(
    values: &[f64],
    tail: Tail,
    options: &SignFlipOptions,
) -> Result<SignFlip, StatsError> {
    require_finite("the sign-flip test", values)?;
    if values.is_empty() {
        return Err(StatsError::TooFewSources { found: 0, needed: 1 });
    }
    if options.exact_up_to > MAX_EXACT {
        return Err(StatsError::Parameter {
            name: "exact-up-to",
            value: options.exact_up_to.to_string(),
            problem: "all patterns are counted for at most 40 sources",
        });
    }
    let n = values.len();
    let sided = if tail == Tail::TwoSided { 2.0 } else { 1.0 };
    let lowest = sided * 0.5f64.powi(n.min(1023) as i32);
    if n <= options.exact_up_to {
        let (extreme, patterns) = count_all(values, tail);
        let p = extreme as f64 / patterns as f64;
        return Ok(SignFlip { p, extreme, patterns, tail, monte_carlo_error: None, floor: lowest });
    }
    if options.draws == 0 {
        return Err(StatsError::Parameter {
            name: "monte-carlo-draws",
            value: "0".into(),
            problem: "at least one pattern must be drawn",
        });
    }
    let extreme = count_drawn(values, tail, options);
    let patterns = options.draws;
    let p = (1 + extreme) as f64 / (1 + patterns) as f64;
    let monte_carlo_error = Some((p * (1.0 - p) / patterns as f64).sqrt());
    let floor = lowest.max(1.0 / (1 + patterns) as f64);
    Ok(SignFlip { p, extreme, patterns, tail, monte_carlo_error, floor })
}

/// The sum a pattern must reach to count, written for the upper tail.
///
/// The set of patterns is symmetric, so "at most s" is as frequent as "at least -s".
fn threshold(observed: f64, tail: Tail, values: &[f64]) -> f64 {
    let slack = TIE_TOLERANCE * values.iter().map(|v| v.abs()).sum::<f64>();
    match tail {
        Tail::TwoSided => observed.abs() - slack,
        Tail::Upper => observed - slack,
        Tail::Lower => -observed - slack,
    }
}

fn count_all(values: &[f64], tail: Tail) -> (u64, u64) {
    let (left, right) = values.split_at(values.len() / 2);
    let mut left = signed_sums(left);
    let mut right = signed_sums(right);
    let patterns = left.len() as u64 * right.len() as u64;
    // The last entry of each table is the pattern that leaves all signs alone.
    let observed = left[left.len() - 1] + right[right.len() - 1];
    let at_least = threshold(observed, tail, values);
    if tail == Tail::TwoSided && at_least <= 0.0 {
        return (patterns, patterns);
    }
    left.sort_unstable_by(f64::total_cmp);
    right.sort_unstable_by(f64::total_cmp);
    let mut extreme = 0;
    let mut from = right.len();
    for a in left {
        while from > 0 && a + right[from - 1] >= at_least {
            from -= 1;
        }
        extreme += (right.len() - from) as u64;
    }
    if tail == Tail::TwoSided { (2 * extreme, patterns) } else { (extreme, patterns) }
}

/// All 2^n signed sums; bit i of the index set means value i keeps its sign.
fn signed_sums(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for value in values {
        let flipped: Vec<f64> = sums.iter().map(|sum| sum - value).collect();
        let kept = sums.iter().map(|sum| sum + value);
        sums = flipped.into_iter().chain(kept.collect::<Vec<_>>()).collect();
    }
    sums
}

/// Signed sums of up to eight values, looked up by a random byte (unused bits are ignored).
type ByteTable = [f64; 256];

/// Draws patterns as random bytes, each looked up in a table of eight values' signed sums.
fn count_drawn(values: &[f64], tail: Tail, options: &SignFlipOptions) -> u64 {
    let table = |chunk: &[f64]| -> ByteTable {
        let sums = signed_sums(chunk);
        std::array::from_fn(|byte| sums[byte % sums.len()])
    };
    let tables: Vec<ByteTable> = values.chunks(8).map(table).collect();
    let observed: f64 = tables.iter().map(|table| table[255]).sum();
    let at_least = threshold(observed, tail, values);
    // By symmetry the upper tail serves both one-sided tests; only two-sided sums lose their sign.
    let extreme = |sum: f64| {
        let compared = if tail == Tail::TwoSided { sum.abs() } else { sum };
        u64::from(compared >= at_least)
    };
    let stream = Philox::new(options.seed, Stream::SignFlip);
    if values.len() <= 32 {
        return count_drawn_words(&tables, options.draws, &stream, extreme);
    }
    let mut count = 0;
    for draw in 0..options.draws {
        let mut sum = 0.0;
        // One block of 128 bits serves 16 tables.
        for (block, sixteen) in tables.chunks(16).enumerate() {
            let words = stream.block(draw, block as u32);
            for (index, table) in sixteen.iter().enumerate() {
                sum += table[words[index / 4].to_le_bytes()[index % 4] as usize];
            }
        }
        count += extreme(sum);
    }
    count
}

/// Up to 32 values: one 32-bit word is a pattern, so one block gives four of them.
fn count_drawn_words(
    tables: &[ByteTable],
    draws: u64,
    stream: &Philox,
    extreme: impl Fn(f64) -> u64,
) -> u64 {
    let mut four = [[0.0; 256]; 4];
    four[..tables.len()].copy_from_slice(tables);
    let [a, b, c, d] = &four;
    let mut count = 0;
    for block in 0..draws.div_ceil(4) {
        let left = (draws - 4 * block).min(4) as usize;
        for word in &stream.block(block, 0)[..left] {
            let [i, j, k, l] = word.to_le_bytes();
            count += extreme(a[i as usize] + b[j as usize] + c[k as usize] + d[l as usize]);
        }
    }
    count
}

/// The exact one-sided sign test: the chance of at least `agreeing` heads in `total` fair tosses.
pub fn sign_test(agreeing: usize, total: usize) -> f64 {
    if agreeing >= total {
        return 0.5f64.powi(total.min(2000) as i32);
    }
    // ln C(total, k) - total ln 2, accumulated from k = total downward.
    let mut ln_term = -(total as f64) * std::f64::consts::LN_2;
    let mut p = ln_term.exp();
    for k in (agreeing..total).rev() {
        ln_term += ((k + 1) as f64 / (total - k) as f64).ln();
        p += ln_term.exp();
    }
    p.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, pattern by pattern.
    fn brute(values: &[f64], tail: Tail) -> u64 {
        let observed: f64 = values.iter().sum();
        let slack = TIE_TOLERANCE * values.iter().map(|v| v.abs()).sum::<f64>();
        let extreme = |sum: f64| match tail {
            Tail::TwoSided => sum.abs() >= observed.abs() - slack,
            Tail::Upper => sum >= observed - slack,
            Tail::Lower => sum <= observed + slack,
        };
        let signed = |mask: u64| {
            let term = |(i, v): (usize, &f64)| if mask >> i & 1 == 1 { *v } else { -v };
            values.iter().enumerate().map(term).sum()
        };
        (0..1u64 << values.len()).filter(|&mask| extreme(signed(mask))).count() as u64
    }

    #[test]
    fn half_tables_count_what_enumeration_counts() {
        let stream = Philox::new(5, Stream::Simulation);
        for n in 1..=13 {
            for case in 0..6 {
                // Rounded values make exact ties likely.
                let value = |i| ((stream.uniform(case, i) - 0.4) * 20.0).round() / 10.0;
                let values: Vec<f64> = (0..n).map(value).collect();
                for tail in [Tail::TwoSided, Tail::Upper, Tail::Lower] {
                    let got = sign_flip(&values, tail, &SignFlipOptions::default()).unwrap();
                    assert_eq!(got.extreme, brute(&values, tail), "{values:?} {tail:?}");
                    assert_eq!(got.patterns, 1 << n);
                }
            }
        }
    }

    #[test]
    fn all_agreeing_reaches_the_floor() {
        let values = [0.3, 0.1, 0.2, 0.5, 0.4, 0.7, 0.1, 0.9];
        let test = sign_flip(&values, Tail::TwoSided, &SignFlipOptions::default()).unwrap();
        assert_eq!((test.p, test.floor), (2.0 / 256.0, 2.0 / 256.0));
    }

    #[test]
    fn all_patterns_of_at_most_forty_values_are_counted() {
        let with = |exact_up_to| SignFlipOptions { exact_up_to, ..SignFlipOptions::default() };
        let values = [1.0, 2.0, 3.0];
        let counted = sign_flip(&values, Tail::Upper, &with(40)).unwrap();
        assert_eq!((counted.extreme, counted.patterns, counted.floor), (1, 8, 0.125));
        assert!(sign_flip(&values, Tail::Upper, &with(41)).is_err());
        assert!(sign_flip(&values, Tail::Upper, &with(42)).is_err());
        assert_eq!(sign_flip(&values, Tail::Upper, &with(3)).unwrap().monte_carlo_error, None);
        assert!(sign_flip(&values, Tail::Upper, &with(2)).unwrap().monte_carlo_error.is_some());
    }

    #[test]
    fn drawn_patterns_state_their_error_and_the_least_p_they_can_give() {
        let options = SignFlipOptions { exact_up_to: 0, draws: 99, seed: 1 };
        let few = sign_flip(&[1.0, 2.0, 3.0], Tail::Upper, &options).unwrap();
        assert_eq!((few.patterns, few.floor), (99, 0.125));
        assert_eq!(few.p, (1 + few.extreme) as f64 / 100.0);
        assert_eq!(few.monte_carlo_error, Some((few.p * (1.0 - few.p) / 99.0).sqrt()));
        let many = sign_flip(&[1.0; 20], Tail::TwoSided, &options).unwrap();
        assert_eq!((many.p, many.floor), (0.01, 0.01));
    }

    #[test]
    fn zeros_give_one() {
        let test = sign_flip(&[0.0; 6], Tail::TwoSided, &SignFlipOptions::default()).unwrap();
        assert_eq!(test.p, 1.0);
    }

    #[test]
    fn drawn_patterns_agree_with_all_patterns_within_their_error() {
        let values: Vec<f64> = (0..21).map(|i| f64::from((i * 37) % 19) - 7.5).collect();
        for tail in [Tail::TwoSided, Tail::Upper, Tail::Lower] {
            let exact = sign_flip(&values, tail, &SignFlipOptions::default()).unwrap();
            let options = SignFlipOptions { exact_up_to: 20, ..Default::default() };
            let drawn = sign_flip(&values, tail, &options).unwrap();
            let error = drawn.monte_carlo_error.unwrap();
            assert!((exact.p - drawn.p).abs() < 4.0 * error, "{exact:?} {drawn:?}");
        }
    }

    #[test]
    fn sign_test_matches_the_binomial() {
        assert_eq!(sign_test(8, 8), 1.0 / 256.0);
        assert!((sign_test(7, 8) - 9.0 / 256.0).abs() < 1e-15);
        assert!((sign_test(0, 8) - 1.0).abs() < 1e-12);
        assert!(sign_test(700, 1400) > 0.5);
    }
}
