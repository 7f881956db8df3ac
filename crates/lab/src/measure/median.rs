//! Medians of many non-negative numbers.
//!
//! A median is a value of the list or the mean of two, so how it is found changes no bit. Neighbours in a
//! sorted sample bracket it, found by counting what lies below them: counting runs at the pace of memory,
//! selecting does not. What lies in the bracket, some of a hundred, is selected from.

use std::ops::Range;

use backcut_kernels::reduce;

/// The largest sample, and the shortest list per value in it.
const SAMPLE: usize = 256;
const SHARE: usize = 32;
/// Lists from this length on are worth a sample.
const LONG: usize = 64 * SHARE;

/// Storage for medians.
#[derive(Clone, Debug, Default)]
pub(crate) struct Medians {
    gathered: Vec<f32>,
    kept: Vec<f32>,
    /// Bit patterns, which order as non-negative numbers do and sort in half the time.
    sample: Vec<u32>,
}

impl Medians {
    /// The median of some ranges of a list.
    pub fn of_ranges(&mut self, values: &[f32], ranges: &[Range<usize>]) -> f64 {
        if let [only] = ranges {
            return self.of(&values[only.clone()]);
        }
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.clear();
        for range in ranges {
            gathered.extend_from_slice(&values[range.clone()]);
        }
        let median = self.of(&gathered);
        self.gathered = gathered;
        median
    }

    /// The median of a list that is not empty.
    pub fn of(&mut self, values: &[f32]) -> f64 {
        let (n, middle) = (values.len(), values.len() / 2);
        self.kept.resize(n.max(self.kept.len()), 0.0);
        let (below, count) = if n < LONG { (0, 0) } else { self.narrow(values) };
        let (list, rank) = if middle < below + count {
            (&mut self.kept[..count], middle - below)
        } else {
            // A short list, or one with values that are not numbers, which no bracket holds.
            self.kept[..n].copy_from_slice(values);
            (&mut self.kept[..n], middle)
        };
        let (lower, &mut high, _) = list.select_nth_unstable_by(rank, f32::total_cmp);
        let low = lower.iter().copied().reduce(f32::max);
        match low.filter(|_| n.is_multiple_of(2)) {
            Some(low) => f64::midpoint(f64::from(low), f64::from(high)),
            None => f64::from(high),
        }
    }

    /// Keeps a bracket around the two middle values; returns how many values lie below it and in it.
    fn narrow(&mut self, values: &[f32]) -> (usize, usize) {
        let Self { kept, sample, .. } = self;
        let middle = values.len() / 2;
        // An odd stride meets every column of a matrix.
        let stride = (values.len() / SAMPLE).max(SHARE) | 1;
        sample.clear();
        sample.extend(values.iter().step_by(stride).map(|value| value.to_bits()));
        sample.sort_unstable();
        // More than three standard deviations of a rank; beyond them the bracket is open.
        let (half, margin) = (sample.len() / 2, (3 * sample.len()).isqrt());
        let near = &sample[half - margin..=half + margin];
        let mut below = 0;
        let end = near.partition_point(|bound| {
            let count = reduce::count_below(values, f32::from_bits(*bound));
            let is_low = count < middle;
            below = if is_low { below.max(count) } else { below };
            is_low
        });
        // Below `low` are too few for the lower middle value to be among them. The first bound with
        // enough below it is a value of the list: the upper middle value is it or a smaller one.
        let low = end.checked_sub(1).map_or(0.0, |last| f32::from_bits(near[last]));
        let high = near.get(end).map_or(f32::INFINITY, |bits| f32::from_bits(*bits));
        (below, reduce::keep_between(values, low, high, kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lists_have_their_medians() {
        let mut medians = Medians::default();
        assert_eq!(medians.of(&[3.0, 0.0, 1e-9, 7.0, 2.0]), 2.0);
        assert_eq!(medians.of(&[4.0, 1.0, 2.0, 8.0]), 3.0);
        assert_eq!(medians.of(&[5.0]), 5.0);
        let list = [9.0, 4.0, 1.0, 9.0, 2.0, 8.0];
        assert_eq!(medians.of_ranges(&list, &[1..3, 4..6]), 3.0);
    }

    #[test]
    fn a_bracket_finds_what_sorting_finds() {
        let mut medians = Medians::default();
        for n in [LONG, LONG + 1, 3 * LONG + 17, 93_700] {
            let spread = |i: usize| (i * 7_919 % 10_007) as f32 / 100.0;
            let ties = |i: usize| (i % 3) as f32;
            let stride = (n / SAMPLE).max(SHARE) | 1;
            // Large exactly where the sample looks: its bracket misses.
            let misleading = |i: usize| if i.is_multiple_of(stride) { 1e9 } else { spread(i) };
            let ordered = |i: usize| i as f32;
            let lists: [&dyn Fn(usize) -> f32; 4] = [&spread, &ties, &misleading, &ordered];
            for (k, value) in lists.iter().enumerate() {
                let mut list: Vec<f32> = (0..n).map(value).collect();
                let found = medians.of(&list);
                list.sort_by(f32::total_cmp);
                let [low, high] = [(n - 1) / 2, n / 2].map(|i| f64::from(list[i]));
                assert_eq!(found, f64::midpoint(low, high), "list {k} of {n}");
            }
        }
    }
}
