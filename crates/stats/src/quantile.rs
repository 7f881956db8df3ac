//! Means and quantiles with one definition each.
//!
//! The quantile is linear interpolation between order statistics at (count - 1) * level (type 7 of
//! Hyndman and Fan, the default of numpy and R), because the intervals this crate must reproduce
//! were made with it. The mean is a plain sum in the order given: short lists, and callers fix the
//! order by sorting sources.

/// The arithmetic mean, summed in order. Empty lists give NaN; callers check before.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample standard deviation (divisor n - 1).
pub fn standard_deviation(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: f64 = values.iter().map(|v| (v - center) * (v - center)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// Quantiles of `values` at increasing `levels`, by selection; `values` is reordered.
///
/// Selection instead of a sort: a family of twelve contrasts asks for 48 quantiles of 100,000
/// draws, and only their neighbourhoods need an order.
pub fn quantiles(values: &mut [f64], levels: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by(|&a, &b| levels[a].total_cmp(&levels[b]));
    let mut result = vec![f64::NAN; levels.len()];
    let count = values.len();
    if count == 0 {
        return result;
    }
    // Everything before `settled` is no larger than what follows: later levels search the tail
    // only.
    let mut settled = 0;
    for index in order {
        let position = (count - 1) as f64 * levels[index].clamp(0.0, 1.0);
        let below = position.floor() as usize;
        let fraction = position - below as f64;
        let [low, high] = in_tail(values, below).unwrap_or_else(|| {
            let start = settled.min(below);
            settled = below;
            at_rank(&mut values[start..], below - start)
        });
        result[index] = low + (high - low) * fraction;
    }
    result
}

/// The value of a rank and the next larger one, or the same if there is none.
fn at_rank(values: &mut [f64], rank: usize) -> [f64; 2] {
    let (_, &mut low, above) = values.select_nth_unstable_by(rank, f64::total_cmp);
    [low, above.iter().copied().min_by(f64::total_cmp).unwrap_or(low)]
}

/// The same of a long list near one of its ends, without a look at the order of the rest: a bound
/// that some of the values suggest leaves few beyond it. None where it left too few.
fn in_tail(values: &[f64], rank: usize) -> Option<[f64; 2]> {
    const SAMPLE: usize = 512;
    let count = values.len();
    let from_end = rank.min(count - 1 - rank);
    if count < 16 * SAMPLE || from_end > count / 16 {
        return None;
    }
    let is_low = from_end == rank;
    let mut some: Vec<f64> = values.iter().step_by(count / SAMPLE).copied().collect();
    // Twice the share that is needed, and a few for luck.
    let place = 2 * from_end * some.len() / count + 8;
    let place = if is_low { place } else { some.len() - 1 - place };
    let (_, &mut bound, _) = some.select_nth_unstable_by(place, f64::total_cmp);
    let is_beyond = |value: &f64| {
        let side = value.total_cmp(&bound);
        if is_low { side.is_le() } else { side.is_ge() }
    };
    let mut beyond: Vec<f64> = values.iter().copied().filter(is_beyond).collect();
    let rank = if is_low { rank } else { beyond.len().checked_sub(1 + from_end)? };
    (beyond.len() > rank + usize::from(is_low)).then(|| at_rank(&mut beyond, rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists of many values, few values and one, in any order: what is told from a tail is what a
    /// sort gives.
    #[test]
    fn a_long_list_has_the_quantiles_that_a_sort_gives() {
        for kinds in [1, 7, 1000, u64::MAX] {
            let value = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % kinds) as f64 - 3.0;
            let shapes: [&dyn Fn(u64) -> f64; 3] = [&value, &|i| i as f64, &|i| -(i as f64)];
            for shape in shapes {
                let values: Vec<f64> = (0..20_000).map(shape).collect();
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                let levels = [0.0, 1e-5, 0.0005, 0.025, 0.06, 0.5, 0.94, 0.975, 0.9995, 1.0];
                let found = quantiles(&mut values.clone(), &levels);
                for (found, level) in found.into_iter().zip(levels) {
                    let position = 19_999.0 * level;
                    let (below, share) = (position.floor() as usize, position.fract());
                    let high = sorted[(below + 1).min(19_999)];
                    let wanted = sorted[below] + (high - sorted[below]) * share;
                    assert_eq!(found.to_bits(), wanted.to_bits(), "{kinds} {level}");
                }
            }
        }
    }

    #[test]
    fn linear_interpolation_as_in_numpy() {
        // numpy.quantile([3, 1, 4, 1, 5, 9, 2, 6], [0.1, 0.5, 0.975])
        let got = quantiles(&mut [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0], &[0.1, 0.5, 0.975]);
        assert_eq!(got[..2], [1.0, 3.5]);
        assert!((got[2] - 8.475).abs() < 1e-12, "{got:?}");
    }

    #[test]
    fn selection_equals_sorting_for_any_order_of_levels() {
        let values: Vec<f64> = (0..997).map(|i| f64::from((i * 7919) % 997) * 0.37).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let levels = [0.9958, 0.0042, 0.5, 0.5, 0.025, 0.975, 0.0, 1.0];
        let got = quantiles(&mut values.clone(), &levels);
        for (level, value) in levels.iter().zip(got) {
            let position = 996.0 * level;
            let below = position.floor() as usize;
            let high = sorted[(below + 1).min(996)];
            let expected = sorted[below] + (high - sorted[below]) * (position - below as f64);
            assert_eq!(value, expected, "level {level}");
        }
    }

    #[test]
    fn standard_deviation_of_a_known_list() {
        let got = standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((got * got - 32.0 / 7.0).abs() < 1e-14, "{got}");
        assert_eq!(standard_deviation(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]), 1.0, "far from zero");
    }
}
