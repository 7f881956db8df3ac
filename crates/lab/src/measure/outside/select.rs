//! Medians of non-negative numbers that are looked at several times and never kept.
//!
//! Bit patterns order as non-negative numbers do. A look counts an interval of patterns by drawers; the drawer
//! that holds a middle rank is the next look's interval, until a drawer is one pattern. The result is a number
//! of the list, or the mean of two: the bits are those of sorting. Two looks are enough, and the first may
//! have been of the same numbers before a factor was known ([`Sought::scale`]): a look counts what lies
//! below its interval too, so a guess that was wrong shows, and is followed by looks that are none.

use std::ops::RangeInclusive;

use backcut_kernels::reduce;

/// Every pattern of a number that is not negative.
const EVERYTHING: RangeInclusive<u32> = 0..=0x7fff_ffff;
/// The largest of them that is a number's.
const INFINITY: u32 = f32::INFINITY.to_bits();
/// Drawers of a look at everything, each of 2^16 patterns.
const DRAWERS: usize = 1 << 15;
/// The most drawers of any other look: a drawer of the first, scaled, may have twice its patterns.
const MOST: u32 = (1 << 17) + 64;
/// Patterns by which a scaled interval is widened: more than the roundings of one product and two quotients.
const SLACK: u32 = 8;

/// A median in search.
#[derive(Clone, Debug)]
pub(super) struct Sought {
    count: u64,
    /// Patterns that hold the two middle values; one pattern once it is found.
    ends: [RangeInclusive<u32>; 2],
}

impl Sought {
    /// The median of `count` numbers.
    pub(super) fn new(count: usize) -> Self {
        Self { count: count as u64, ends: [EVERYTHING; 2] }
    }

    /// Goes on with numbers that are `factor` times those that were looked at, up to rounding.
    pub(super) fn scale(&mut self, factor: f32) {
        if factor.to_bits() == 1_f32.to_bits() {
            return;
        }
        let scaled = |bits: u32| (f32::from_bits(bits) * factor).to_bits();
        // What is found by a first look is infinite, or not a number: so it stays.
        for end in self.ends.iter_mut().filter(|end| !is_found(end)) {
            let (low, high) = (scaled(*end.start()), scaled(*end.end()));
            *end = low.saturating_sub(SLACK)..=(high + SLACK).min(INFINITY);
        }
    }

    /// What the next look has to count: nothing, one interval or two.
    pub(super) fn look(&self) -> Look {
        let [low, high] = &self.ends;
        let mut windows = Vec::new();
        if !is_found(low) {
            windows.push(Window::new(low));
        }
        if !is_found(high) && high != low {
            windows.push(Window::new(high));
        }
        Look { windows }
    }

    /// Takes in what a look counted.
    pub(super) fn narrow(&mut self, look: &Look) {
        for (end, rank) in self.ends.iter_mut().zip([(self.count - 1) / 2, self.count / 2]) {
            if !is_found(end) {
                *end =
                    look.windows.iter().find_map(|window| window.find(rank)).unwrap_or(EVERYTHING);
            }
        }
    }

    /// The median, once it is found.
    pub(super) fn median(&self) -> Option<f64> {
        let [low, high] = &self.ends;
        let value = |end: &RangeInclusive<u32>| f64::from(f32::from_bits(*end.start()));
        (is_found(low) && is_found(high)).then(|| f64::midpoint(value(low), value(high)))
    }
}

fn is_found(end: &RangeInclusive<u32>) -> bool {
    end.start() == end.end()
}

/// Counts of a look.
#[derive(Clone, Debug)]
pub(super) struct Look {
    windows: Vec<Window>,
}

impl Look {
    /// Takes in some numbers; `kept` is storage.
    pub(super) fn take(&mut self, values: &[f32], kept: &mut Vec<f32>) {
        for window in &mut self.windows {
            window.take(values, kept);
        }
    }

    /// Takes in all numbers of another look at everything; false, and nothing done, if one of the two is not that.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let ([all], [part]) = (self.windows.as_mut_slice(), other.windows.as_slice()) else {
            return false;
        };
        if !all.is_everything() || !part.is_everything() {
            return false;
        }
        for (count, more) in all.counts.iter_mut().zip(&part.counts) {
            *count += more;
        }
        true
    }
}

/// Patterns from `low` on, counted by drawers of `2^shift`, and how many numbers lie below them.
#[derive(Clone, Debug)]
struct Window {
    low: u32,
    high: u32,
    shift: u32,
    below: u64,
    counts: Vec<u32>,
}

impl Window {
    fn new(patterns: &RangeInclusive<u32>) -> Self {
        let (low, high) = (*patterns.start(), *patterns.end());
        let mut shift = 0;
        while (high - low) >> shift >= MOST {
            shift += 1;
        }
        let shift = if *patterns == EVERYTHING { 16 } else { shift };
        Self { low, high, shift, below: 0, counts: vec![0; ((high - low) >> shift) as usize + 1] }
    }

    fn is_everything(&self) -> bool {
        self.low == *EVERYTHING.start() && self.high == *EVERYTHING.end()
    }

    fn take(&mut self, values: &[f32], kept: &mut Vec<f32>) {
        // A length that the compiler knows: no index is checked.
        if let Ok(counts) = <&mut [u32; DRAWERS]>::try_from(self.counts.as_mut_slice())
            && self.low == 0
            && self.shift == 16
        {
            for value in values {
                counts[(value.to_bits() >> 16) as usize & (DRAWERS - 1)] += 1;
            }
            return;
        }
        let (low, high) = (f32::from_bits(self.low), f32::from_bits(self.high));
        kept.resize(values.len().max(kept.len()), 0.0);
        self.below += reduce::count_below(values, low) as u64;
        let count = reduce::keep_between(values, low, high, kept);
        for value in &kept[..count] {
            self.counts[((value.to_bits() - self.low) >> self.shift) as usize] += 1;
        }
    }

    /// The drawer of a rank, counted from 0; none if the rank lies outside.
    fn find(&self, rank: u64) -> Option<RangeInclusive<u32>> {
        let mut below = self.below;
        if rank < below {
            return None;
        }
        for (drawer, &count) in self.counts.iter().enumerate() {
            below += u64::from(count);
            if rank < below {
                let low = self.low + ((drawer as u32) << self.shift);
                let last = (low + ((1 << self.shift) - 1)).min(self.high);
                return Some(low..=if low < INFINITY { last } else { low });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::median::Medians;

    fn look(sought: &mut Sought, values: &[f32]) {
        let (mut look, mut kept) = (sought.look(), Vec::new());
        let (one, two) = values.split_at(values.len() / 3);
        look.take(two, &mut kept);
        look.take(one, &mut kept);
        sought.narrow(&look);
    }

    fn draw(n: usize) -> Vec<f32> {
        let draw = |i: usize| (((i * 7919) % 10_007) as f32 / 311.0).powi(1 + (i % 5) as i32);
        (0..n).map(draw).collect()
    }

    #[test]
    fn two_looks_have_the_bits_of_sorting() {
        for n in [1, 2, 3, 10, 1001, 5000] {
            let values = draw(n);
            let mut sought = Sought::new(n);
            look(&mut sought, &values);
            assert_eq!(sought.median(), None, "{n}");
            look(&mut sought, &values);
            assert_eq!(sought.median(), Some(Medians::default().of(&values)), "{n}");
        }
    }

    #[test]
    fn looks_at_parts_join_to_one_at_the_whole() {
        let values = draw(5000);
        let mut whole = Sought::new(values.len());
        let mut all = whole.look();
        for part in values.chunks(1777) {
            let mut look = Sought::new(part.len()).look();
            look.take(part, &mut Vec::new());
            assert!(all.join(&look));
        }
        whole.narrow(&all);
        assert!(!whole.look().join(&all), "a look at one drawer takes no counts of all");
        look(&mut whole, &values);
        assert_eq!(whole.median(), Some(Medians::default().of(&values)));
    }

    /// A factor keeps the order up to rounding, so the second look is already at the scaled numbers.
    #[test]
    fn a_look_before_the_factor_is_known_counts() {
        for factor in [0.93_f32, 0.5, 1.7e-3, 1.0, 3e-9] {
            for n in [1, 2, 1001, 5000] {
                let values = draw(n);
                let scaled: Vec<f32> = values.iter().map(|x| x * factor / 1.3).collect();
                let values: Vec<f32> = values.iter().map(|x| x / 1.3).collect();
                let mut sought = Sought::new(n);
                look(&mut sought, &values);
                sought.scale(factor);
                look(&mut sought, &scaled);
                let want = Medians::default().of(&scaled);
                assert_eq!(sought.median(), Some(want), "{factor} {n}");
            }
        }
    }

    #[test]
    fn a_wrong_guess_shows_and_is_made_good() {
        let values = draw(1001);
        let other: Vec<f32> = values.iter().map(|x| 2.0 * x + 1.0).collect();
        let mut sought = Sought::new(values.len());
        look(&mut sought, &values);
        // The guess, everything, a drawer.
        for _ in 0..3 {
            assert_eq!(sought.median(), None);
            look(&mut sought, &other);
        }
        assert_eq!(sought.median(), Some(Medians::default().of(&other)));
    }

    #[test]
    fn what_is_no_finite_number_ends_the_search() {
        let found = |value: f32| {
            let mut sought = Sought::new(3);
            look(&mut sought, &[value; 3]);
            sought.scale(0.5);
            sought.median().unwrap()
        };
        assert!(found(f32::NAN).is_nan() && found(-f32::NAN).is_nan());
        assert_eq!(found(f32::INFINITY), f64::INFINITY);
    }
}
