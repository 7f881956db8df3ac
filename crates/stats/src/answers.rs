//! Answers: what a question that belongs to no family has for a mean and a pointwise 95% interval.
//!
//! Figures, tables, claims and advice ask for hundreds of them, nearly all over the same few counts
//! of sources. Here they are computed, each once, to the bits that a family of one gives; whether
//! something was predicted is a family's business ([`crate::Family`]).

use std::collections::BTreeMap;

use crate::bootstrap::{Kept, Units};
use crate::contrast::Contrast;
use crate::error::StatsError;
use crate::family::{DRAWS, MIN_SOURCES, Prepared, SEED};
use crate::limit::LARGE;
use crate::quantile::{mean, standard_deviation};
use crate::table::SourceTable;

/// The ends of a pointwise interval.
const LEVELS: [f64; 2] = [0.025, 0.975];

/// A mean over sources, with what it is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// One value per source, in the order of their names.
    pub values: Vec<(String, f64)>,
    /// The mean, or a ratio of two means.
    pub mean: f64,
    /// The pointwise 95% interval; none below four sources.
    pub interval: Option<[f64; 2]>,
    /// Sources without a value, which are left out.
    pub missing: Vec<String>,
}

impl Estimate {
    /// The same estimate in another unit.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        for (_, value) in &mut self.values {
            *value *= factor;
        }
        self.mean *= factor;
        self.interval = self.interval.map(|[low, high]| [low * factor, high * factor]);
        self
    }

    /// How many sources it rests on.
    pub fn n(&self) -> usize {
        self.values.len()
    }

    /// Sources whose value is below zero.
    pub fn below_zero(&self) -> usize {
        self.values.iter().filter(|(_, v)| *v < 0.0).count()
    }

    /// The standard deviation over sources, from two on.
    pub fn deviation(&self) -> Option<f64> {
        let values: Vec<f64> = self.values.iter().map(|(_, v)| *v).collect();
        (values.len() > 1).then(|| standard_deviation(&values))
    }
}

/// Answers that were given, and what makes the next one quick.
#[derive(Default, Debug)]
pub struct Answers {
    /// By count of sources.
    draws: BTreeMap<usize, Kept>,
    /// By the bits of the values that are averaged: whoever asks the same shares it.
    known: BTreeMap<Vec<u64>, [f64; 2]>,
    /// Whether intervals are left out.
    plain: bool,
}

impl Answers {
    /// From now on answers have no interval: nobody looks at them.
    pub fn leave_intervals_out(&mut self) {
        self.plain = true;
    }

    /// The answer to a contrast, over the sources with a value in every cell that it reads. The
    /// others are left out and named.
    pub fn ask(
        &mut self,
        contrast: &Contrast,
        table: &SourceTable,
    ) -> Result<Estimate, StatsError> {
        let missing = table.incomplete(&contrast.cells_in(table)?)?;
        let table = table.without(&missing);
        let found = table.sources().len();
        if found == 0 {
            return Err(StatsError::TooFewSources { found, needed: 1 });
        }
        let evaluated = contrast.evaluate(&table)?;
        let sources = table.sources().iter().cloned();
        let Some(below) = evaluated.denominators else {
            return Ok(self.mean(sources.zip(evaluated.values).collect(), missing));
        };
        // A ratio of means has no value per source; its interval pairs both means in every draw.
        let each = evaluated.values.iter().zip(&below).map(|(a, b)| a / b);
        let values = sources.zip(each).filter(|(_, v)| v.is_finite()).collect();
        let item = Prepared { contrast, values: evaluated.values, denominators: Some(below) };
        let mean = item.estimate();
        if !mean.is_finite() {
            let (contrast, place) = (contrast.text.clone(), "the mean over sources".into());
            return Err(StatsError::ZeroDenominator { contrast, place });
        }
        let interval = self.interval(&item)?;
        Ok(Estimate { values, mean, interval, missing })
    }

    /// The mean over sources of values that are at hand.
    pub fn mean(&mut self, values: Vec<(String, f64)>, missing: Vec<String>) -> Estimate {
        let plain: Vec<f64> = values.iter().map(|(_, v)| *v).collect();
        let center = mean(&plain);
        let contrast = Contrast::column("value");
        let item = Prepared { contrast: &contrast, values: plain, denominators: None };
        let interval = self.interval(&item).ok().flatten();
        Estimate { mean: center, interval, missing, values }
    }

    /// The pointwise interval; none below four sources or for values that are not finite.
    fn interval(&mut self, item: &Prepared<'_>) -> Result<Option<[f64; 2]>, StatsError> {
        let is_finite = item.values.iter().all(|v| v.is_finite());
        if self.plain || item.values.len() < MIN_SOURCES || !is_finite {
            return Ok(None);
        }
        let columns: Vec<Vec<f64>> =
            std::iter::once(&item.values).chain(&item.denominators).cloned().collect();
        let bits = columns.iter().flatten().map(|v| v.to_bits());
        let key: Vec<u64> = std::iter::once(columns.len() as u64).chain(bits).collect();
        if let Some(interval) = self.known.get(&key) {
            return Ok(Some(*interval));
        }
        let units = Units::plain(item.values.len());
        let drawn = if units.len() > LARGE {
            Vec::new()
        } else {
            self.draws(units.len()).means(&columns)?
        };
        let (ends, _) = item.ends(&units, drawn.into_iter(), &LEVELS)?;
        let interval = [ends[0], ends[1]];
        self.known.insert(key, interval);
        Ok(Some(interval))
    }

    fn draws(&mut self, count: usize) -> &Kept {
        self.draws.entry(count).or_insert_with(|| Kept::new(count, DRAWS, SEED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FamilyParams;

    const VALUES: [[f64; 2]; 6] =
        [[0.3, 2.0], [0.1, 1.5], [0.4, 1.0], [0.15, 2.5], [0.92, 3.0], [0.65, 1.2]];

    fn table(count: usize) -> SourceTable {
        let source = |i: usize| {
            [("a", VALUES[i][0]), ("b", VALUES[i][1])].map(|(c, v)| (i.to_string(), c, v))
        };
        SourceTable::from_values((0..count).flat_map(source)).unwrap()
    }

    #[test]
    fn the_bits_are_those_of_a_family_of_one() {
        let mut answers = Answers::default();
        for text in ["[a]", "[a] - 0.1 * [b]", "mean([a]) / mean([b])"] {
            let contrast = Contrast::parse(text).unwrap();
            let family = FamilyParams::new(vec![contrast.clone()]).check().unwrap();
            let row = &family.run(&table(6)).unwrap().rows[0];
            for _ in 0..2 {
                let answer = answers.ask(&contrast, &table(6)).unwrap();
                assert_eq!((answer.mean, answer.n()), (row.estimate, 6), "{text}");
                assert_eq!(answer.interval, Some(row.pointwise), "{text}");
                assert_eq!(answer.interval, Some(row.family), "{text}");
            }
            assert_eq!(answers.ask(&contrast, &table(3)).unwrap().interval, None);
        }
        assert_eq!(answers.mean(vec![("x".to_owned(), f64::NAN); 5], Vec::new()).interval, None);
    }

    #[test]
    fn sources_with_a_gap_are_left_out_and_named() {
        let values =
            [("1", "a", Some(1.0)), ("1", "b", None), ("2", "a", Some(2.0)), ("2", "b", Some(3.0))];
        let table = SourceTable::from_values(values).unwrap();
        let ask = |text: &str| Answers::default().ask(&Contrast::parse(text).unwrap(), &table);
        let answer = ask("[b] - [a]").unwrap();
        assert_eq!(answer.values, [("2".to_owned(), 1.0)]);
        assert_eq!(answer.missing, ["1"]);
        assert!(ask("[a]").unwrap().missing.is_empty());
        let table = SourceTable::from_values([("1", "a", None::<f64>)]).unwrap();
        let none = Answers::default().ask(&Contrast::parse("[a]").unwrap(), &table);
        assert_eq!(none, Err(StatsError::TooFewSources { found: 0, needed: 1 }));
    }

    /// Two values over two are not the mean of four.
    #[test]
    fn a_ratio_is_not_taken_for_a_mean_of_the_same_values() {
        let csv = "seed,a,b\n1,1,5\n2,2,6\n3,3,7\n4,4,8\n";
        let table = SourceTable::from_csv(csv.as_bytes(), &crate::Layout::default()).unwrap();
        let mut answers = Answers::default();
        let ratio = Contrast::parse("mean([a]) / mean([b])").unwrap();
        let ratio = answers.ask(&ratio, &table).unwrap().interval;
        let values = (1..=8).map(|i| (i.to_string(), f64::from(i))).collect();
        assert_ne!(answers.mean(values, Vec::new()).interval, ratio);
    }
}
