//! Medians of non-negative numbers that are looked at twice and never kept.
//!
//! Bit patterns order as non-negative numbers do. A first look counts them by their upper half, which says in
//! which drawer the middle ones lie; a second look counts those drawers by the lower half. The result is a
//! number of the list, or the mean of two: the bits are those of sorting.

const DRAWERS: usize = 1 << 15;
const PLACES: usize = 1 << 16;

/// Counts by the upper half of the pattern.
#[derive(Clone)]
pub(super) struct Coarse {
    counts: Vec<u32>,
    total: u64,
}

impl Coarse {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; DRAWERS], total: 0 }
    }

    pub(super) fn take(&mut self, values: &[f32]) {
        self.total += values.len() as u64;
        for value in values {
            self.counts[drawer(*value)] += 1;
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.total += other.total;
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// What a second look has to count.
    pub(super) fn narrow(&self) -> Fine {
        let high = self.total / 2;
        let low = if self.total.is_multiple_of(2) { high.saturating_sub(1) } else { high };
        Fine { ends: [self.find(low), self.find(high)] }
    }

    /// The drawer of a rank, counted from 0.
    fn find(&self, rank: u64) -> Drawer {
        let mut below = 0;
        for (drawer, &count) in self.counts.iter().enumerate() {
            if rank < below + u64::from(count) {
                return Drawer { number: drawer, rank: rank - below, counts: vec![0; PLACES] };
            }
            below += u64::from(count);
        }
        Drawer { number: DRAWERS, rank: 0, counts: Vec::new() }
    }
}

/// Two drawers, which often are the same.
pub(super) struct Fine {
    ends: [Drawer; 2],
}

struct Drawer {
    number: usize,
    rank: u64,
    counts: Vec<u32>,
}

impl Fine {
    pub(super) fn take(&mut self, values: &[f32]) {
        let [low, high] = &mut self.ends;
        for value in values {
            let at = drawer(*value);
            let place = (value.to_bits() & 0xffff) as usize;
            if at == low.number {
                low.counts[place] += 1;
            }
            if at == high.number {
                high.counts[place] += 1;
            }
        }
    }

    /// The median; none of an empty list.
    pub(super) fn median(&self) -> Option<f64> {
        let value = |end: &Drawer| {
            let mut below = 0;
            let place = end.counts.iter().position(|count| {
                below += u64::from(*count);
                end.rank < below
            })?;
            Some(f64::from(f32::from_bits(((end.number as u32) << 16) | place as u32)))
        };
        let [low, high] = &self.ends;
        Some(f64::midpoint(value(low)?, value(high)?))
    }
}

fn drawer(value: f32) -> usize {
    (value.to_bits() >> 16) as usize & (DRAWERS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median::Medians;

    #[test]
    fn two_looks_have_the_bits_of_sorting() {
        for n in [1, 2, 3, 10, 1001, 5000] {
            let draw = |i: usize| (((i * 7919) % 10_007) as f32 / 311.0).powi(1 + (i % 5) as i32);
            let values: Vec<f32> = (0..n).map(draw).collect();
            let mut coarse = Coarse::new();
            let (one, two) = values.split_at(n / 3);
            coarse.take(one);
            let mut other = Coarse::new();
            other.take(two);
            coarse.join(&other);
            let mut fine = coarse.narrow();
            fine.take(two);
            fine.take(one);
            assert_eq!(fine.median(), Some(Medians::default().of(&values)), "{n}");
        }
        assert_eq!(Coarse::new().narrow().median(), None);
    }
}
