//! Pointwise 95% intervals, many of them.
//!
//! A page needs some hundreds, nearly all over the same few counts of sources, and most of an interval's time goes
//! into drawing. The draws of a count are made once by `backcut-stats` and kept; means are then summed in the
//! order of the picks, as it sums them, so the bits are those of a family of one (a test compares them).

use std::collections::BTreeMap;

use backcut_stats::bootstrap::Units;
use backcut_stats::family::MIN_SOURCES;
use backcut_stats::quantile::quantiles;
use backcut_stats::{DRAWS, SEED};

const LEVELS: [f64; 2] = [0.025, 0.975];

/// Draws that were made, and intervals that were asked for before.
#[derive(Default, Debug)]
pub struct Intervals {
    /// By count of sources: the picks of every draw, one after the other.
    picks: BTreeMap<usize, Vec<u16>>,
    /// By the bits of the values: a figure and a table that show one estimate share it.
    known: BTreeMap<Vec<u64>, [f64; 2]>,
}

impl Intervals {
    /// The interval of the mean of `values`; none below four sources or for values that are not finite.
    pub fn of_mean(&mut self, values: &[f64]) -> Option<[f64; 2]> {
        let count = values.len();
        if count < MIN_SOURCES
            || count > usize::from(u16::MAX)
            || !values.iter().all(|v| v.is_finite())
        {
            return None;
        }
        let key: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
        if let Some(interval) = self.known.get(&key) {
            return Some(*interval);
        }
        let picks = self.picks.entry(count).or_insert_with(|| {
            let mut picks = Vec::with_capacity(DRAWS * count);
            Units::plain(count)
                .resample(DRAWS, SEED, |_, drawn| picks.extend(drawn.iter().map(|p| *p as u16)));
            picks
        });
        let mut means: Vec<f64> = picks
            .chunks_exact(count)
            .map(|drawn| {
                let mut sum = 0.0;
                for pick in drawn {
                    sum += values[usize::from(*pick)];
                }
                sum / count as f64
            })
            .collect();
        let ends = quantiles(&mut means, &LEVELS);
        let interval = [ends[0], ends[1]];
        self.known.insert(key, interval);
        Some(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backcut_stats::{Contrast, FamilyParams, Layout, SourceTable};

    #[test]
    fn the_bits_are_those_of_a_family_of_one() {
        let values = [0.3, 0.1, 0.4, 0.15, 0.92, 0.65];
        let csv = "seed,a\n1,0.3\n2,0.1\n3,0.4\n4,0.15\n5,0.92\n6,0.65\n";
        let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap();
        let family = FamilyParams::new(vec![Contrast::parse("[a]").unwrap()]).check().unwrap();
        let row = &family.run(&table).unwrap().rows[0];
        let mut intervals = Intervals::default();
        for _ in 0..2 {
            assert_eq!(intervals.of_mean(&values), Some(row.pointwise));
            assert_eq!(intervals.of_mean(&values), Some(row.family));
        }
        assert_eq!(intervals.of_mean(&values[..3]), None);
        assert_eq!(intervals.of_mean(&[f64::NAN; 5]), None);
    }
}
