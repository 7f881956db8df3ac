//! Medians of many non-negative numbers.
//!
//! A median is a value of the list or the mean of two, so how it is found changes no bit.
//! Neighbours in a sorted sample bracket it, found by counting what lies below them: counting runs
//! at the pace of memory, selecting does not. What lies in the bracket, some of a hundred, is
//! selected from.
//!
//! **More numbers than one keeps.** Bit patterns order as non-negative numbers do. So of a list
//! that is too long to be kept a first look counts the patterns' upper halves, and a second look
//! the lower halves of those whose upper half is a middle value's: the bits are those of sorting,
//! in memory that does not grow with the list. We decided against an approximate median there: the
//! same gradients would have other findings in a file than in memory.

use std::ops::Range;

use backcut_kernels::reduce;

/// The largest sample, and the shortest list per value in it.
const SAMPLE: usize = 256;
const SHARE: usize = 32;
/// Lists from this length on are worth a sample.
const LONG: usize = 64 * SHARE;

/// Storage for medians of lists.
#[derive(Clone, Debug, Default)]
struct Select {
    gathered: Vec<f32>,
    kept: Vec<f32>,
    /// Bit patterns, which order as non-negative numbers do and sort in half the time.
    sample: Vec<u32>,
}

impl Select {
    /// The median of some ranges of a list.
    fn of_ranges(&mut self, values: &[f32], ranges: &[Range<usize>]) -> f64 {
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
    fn of(&mut self, values: &[f32]) -> f64 {
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

    /// Keeps a bracket around the two middle values; returns how many values lie below it and in
    /// it.
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

/// Numbers that are kept, of all series together: 64 MiB.
pub(crate) const KEPT: usize = 1 << 24;
/// Halves of a pattern that there are.
const HALVES: usize = 1 << 16;

/// Medians, over parts of the weights, of several series with a non-negative number per weight.
#[derive(Default)]
pub(crate) struct Medians {
    parts: Vec<Vec<Range<usize>>>,
    /// The parts that a group's weights belong to.
    of_group: Vec<Vec<usize>>,
    /// The series, where they are kept.
    lists: Vec<Vec<f32>>,
    /// Their parts, where they are counted.
    counted: Vec<Vec<Counted>>,
    stretch: Vec<f32>,
    select: Select,
}

impl Medians {
    /// Begins with as many series. They are counted, and looked at twice, if all together have more
    /// than `most` numbers.
    pub fn begin(
        &mut self,
        parts: Vec<Vec<Range<usize>>>,
        of_group: Vec<Vec<usize>>,
        series: usize,
        most: usize,
    ) {
        let len = parts.iter().flatten().map(|range| range.end).max().unwrap_or(0);
        let is_kept = len.saturating_mul(series) <= most;
        self.lists.resize_with(if is_kept { series } else { 0 }, Vec::new);
        self.lists.iter_mut().for_each(|list| list.resize(len, 0.0));
        let count = |part: &Vec<Range<usize>>| Counted::new(part.iter().map(Range::len).sum());
        let counts: Vec<Counted> = parts.iter().map(count).collect();
        self.counted = if is_kept { Vec::new() } else { vec![counts; series] };
        (self.parts, self.of_group) = (parts, of_group);
    }

    /// Whether everything has to come a second time.
    pub fn look_again(&self) -> bool {
        !self.counted.is_empty()
    }

    /// Takes in the numbers of a stretch of a group, which `write` writes. Stretches come in their
    /// order.
    pub fn put(
        &mut self,
        series: usize,
        group: usize,
        range: &Range<usize>,
        write: impl FnOnce(&mut [f32]),
    ) {
        if let Some(list) = self.lists.get_mut(series) {
            return write(&mut list[range.clone()]);
        }
        self.stretch.resize(range.len(), 0.0);
        write(&mut self.stretch);
        for &part in &self.of_group[group] {
            let counted = &mut self.counted[series][part];
            counted.take(&self.stretch);
            // Counts are as long as a small model: kept no longer than a part lasts.
            if self.parts[part].iter().all(|own| own.end <= range.end) {
                counted.end_look();
            }
        }
    }

    /// The median of a series over a part.
    pub fn of(&mut self, series: usize, part: usize) -> f64 {
        match self.lists.get(series) {
            Some(list) => self.select.of_ranges(list, &self.parts[part]),
            None => self.counted[series][part].median(),
        }
    }
}

/// The two middle values of numbers that are looked at twice.
#[derive(Clone, Debug)]
struct Counted {
    /// How many numbers of their drawer lie below each.
    ranks: [u64; 2],
    /// The halves of their patterns that are known.
    upper: Option<[usize; 2]>,
    lower: [usize; 2],
    counts: [Vec<u64>; 2],
}

impl Counted {
    fn new(count: usize) -> Self {
        let ranks = [count.saturating_sub(1) / 2, count / 2].map(|rank| rank as u64);
        Self { ranks, upper: None, lower: [0; 2], counts: [Vec::new(), Vec::new()] }
    }

    fn take(&mut self, values: &[f32]) {
        let halves = values.iter().map(|value| {
            let bits = value.to_bits() as usize;
            (bits >> 16, bits % HALVES)
        });
        self.counts.iter_mut().for_each(|counts| counts.resize(HALVES, 0));
        let [low, high] = &mut self.counts;
        match self.upper {
            None => halves.for_each(|(upper, _)| low[upper] += 1),
            Some([a, b]) => {
                for (upper, lower) in halves {
                    if upper == a {
                        low[lower] += 1;
                    }
                    if upper == b {
                        high[lower] += 1;
                    }
                }
            }
        }
    }

    fn end_look(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        let is_first = self.upper.is_none();
        let mut found = [0; 2];
        for (i, rank) in self.ranks.iter_mut().enumerate() {
            let counts = &counts[if is_first { 0 } else { i }];
            for (drawer, &count) in counts.iter().enumerate() {
                if *rank < count {
                    found[i] = drawer;
                    break;
                }
                *rank -= count;
            }
        }
        if is_first {
            self.upper = Some(found);
        } else {
            self.lower = found;
        }
    }

    fn median(&self) -> f64 {
        let upper = self.upper.unwrap_or_default();
        let value =
            |i: usize| f64::from(f32::from_bits((upper[i] * HALVES + self.lower[i]) as u32));
        f64::midpoint(value(0), value(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lists_have_their_medians() {
        let mut medians = Select::default();
        assert_eq!(medians.of(&[3.0, 0.0, 1e-9, 7.0, 2.0]), 2.0);
        assert_eq!(medians.of(&[4.0, 1.0, 2.0, 8.0]), 3.0);
        assert_eq!(medians.of(&[5.0]), 5.0);
        let list = [9.0, 4.0, 1.0, 9.0, 2.0, 8.0];
        assert_eq!(medians.of_ranges(&list, &[1..3, 4..6]), 3.0);
    }

    #[test]
    fn a_bracket_finds_what_sorting_finds() {
        let mut medians = Select::default();
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

    #[test]
    fn two_looks_have_the_bits_of_a_list() {
        // Numbers of many sizes, with ties, in groups of which one has two stretches.
        let value = |i: usize| (((i * 7919) % 1013) as f32 / 311.0).powi(1 + (i % 5) as i32);
        let series: [Vec<f32>; 2] = [
            (0..9000).map(value).collect(),
            (0..9000).map(|i| [0.0, f32::INFINITY, 1e-42][i % 3]).collect(),
        ];
        let pieces = [(0..1, 0), (1..3000, 1), (3000..3002, 2), (3002..8000, 1), (8000..9000, 3)];
        let parts = vec![
            vec![0..1],
            vec![1..3000, 3002..8000],
            vec![3000..3002],
            vec![0..3002, 3002..9000],
        ];
        let of_group = vec![vec![0, 3], vec![1, 3], vec![2, 3], vec![3]];
        let found = |most: usize| {
            let mut medians = Medians::default();
            medians.begin(parts.clone(), of_group.clone(), 2, most);
            assert_eq!(medians.look_again(), most == 0);
            for _ in 0..=usize::from(medians.look_again()) {
                for (piece, group) in &pieces {
                    for start in piece.clone().step_by(777) {
                        let range = start..piece.end.min(start + 777);
                        for (i, values) in series.iter().enumerate() {
                            let write = |to: &mut [f32]| to.copy_from_slice(&values[range.clone()]);
                            medians.put(i, *group, &range, write);
                        }
                    }
                }
            }
            let all = (0..2).flat_map(|i| (0..4).map(move |part| (i, part)));
            all.map(|(i, part)| medians.of(i, part)).collect::<Vec<f64>>()
        };
        assert_eq!(found(0), found(usize::MAX));
    }
}
