//! The percentile bootstrap over whole sources, or over clusters within strata.
//!
//! A draw picks as many units as there are, with replacement, and averages each column over the
//! picked units. All columns share the picks: a source enters with everything it has, which is what
//! "paired" means. Strata are resampled separately, each with its own size.

use std::collections::BTreeMap;

use crate::error::StatsError;
use crate::philox::{Philox, Stream};
use crate::table::SourceTable;

/// Fewer sources than this make no interval.
pub const MIN_SOURCES: usize = 4;

/// Columns, or draws, that are summed together.
const LANES: usize = 8;

/// What is resampled: sources, or clusters of them, grouped by stratum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Units {
    /// Rows of the table that belong to each unit; units of a stratum stand together.
    members: Vec<Vec<usize>>,
    /// How many units each stratum has, in order.
    strata: Vec<usize>,
    clustered: bool,
}

impl Units {
    /// One unit per source, one stratum.
    pub fn plain(count: usize) -> Self {
        Self {
            members: (0..count).map(|i| vec![i]).collect(),
            strata: vec![count],
            clustered: false,
        }
    }

    /// Units as the table's cluster and stratum columns say; without them, its sources.
    pub fn of(table: &SourceTable) -> Self {
        if table.strata().is_none() && table.clusters().is_none() {
            return Self::plain(table.sources().len()); // names differ and are sorted
        }
        let labels = table.sources().iter().enumerate().map(|(row, source)| {
            let stratum = table.strata().map_or("", |s| s[row].as_str());
            (stratum, table.clusters().map_or(source.as_str(), |c| c[row].as_str()))
        });
        Self { clustered: table.clusters().is_some(), ..Self::grouped(labels) }
    }

    /// Rows by their stratum and cluster: a unit is a cluster within its stratum.
    pub fn grouped<S: Ord + Clone>(rows: impl IntoIterator<Item = (S, S)>) -> Self {
        let mut groups: BTreeMap<(S, S), Vec<usize>> = BTreeMap::new();
        for (row, labels) in rows.into_iter().enumerate() {
            groups.entry(labels).or_default().push(row);
        }
        let mut sizes: BTreeMap<S, usize> = BTreeMap::new();
        for (stratum, _) in groups.keys() {
            *sizes.entry(stratum.clone()).or_default() += 1;
        }
        Self {
            strata: sizes.into_values().collect(),
            members: groups.into_values().collect(),
            clustered: true,
        }
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether units are clusters of rows.
    pub fn clustered(&self) -> bool {
        self.clustered
    }

    /// The rows of each unit.
    pub fn members(&self) -> &[Vec<usize>] {
        &self.members
    }

    /// How many strata there are, and how many of them hold a single unit and so never vary.
    pub fn strata_and_singletons(&self) -> (usize, usize) {
        (self.strata.len(), self.strata.iter().filter(|&&size| size == 1).count())
    }

    /// One value per unit: the average over its rows.
    pub fn average(&self, rows: &[f64]) -> Vec<f64> {
        let of_unit = |members: &Vec<usize>| {
            members.iter().map(|&row| rows[row]).sum::<f64>() / members.len() as f64
        };
        self.members.iter().map(of_unit).collect()
    }

    /// The standard deviation of the means that [`Self::means`] draws, without drawing.
    pub(crate) fn standard_error(&self, values: &[f64]) -> f64 {
        let mut rest = values;
        let mut squares = 0.0;
        for &size in &self.strata {
            let (stratum, others) = rest.split_at(size);
            let center = crate::quantile::mean(stratum);
            squares += stratum.iter().map(|v| (v - center) * (v - center)).sum::<f64>();
            rest = others;
        }
        squares.sqrt() / self.len() as f64
    }

    /// Calls `visit` with the picked units of every draw.
    pub fn resample(&self, draws: usize, seed: u64, mut visit: impl FnMut(usize, &[u32])) {
        let stream = Philox::new(seed, Stream::Bootstrap);
        let mut picks = vec![0; self.len()];
        for draw in 0..draws {
            let (mut start, mut block) = (0, 0);
            for &size in &self.strata {
                let within = &mut picks[start..start + size];
                stream.indices(draw as u64, block, size as u32, within);
                for pick in within {
                    *pick += start as u32;
                }
                start += size;
                block += size.div_ceil(4) as u32;
            }
            visit(draw, &picks);
        }
    }

    /// Bootstrap means: for each column of per-unit values, one mean per draw.
    pub fn means(
        &self,
        columns: &[Vec<f64>],
        draws: usize,
        seed: u64,
    ) -> Result<Vec<Vec<f64>>, StatsError> {
        self.sums::<LANES, 1, u32>(columns, draws, |visit| {
            self.resample(draws, seed, |draw, picks| visit(draw, picks));
        })
    }

    /// The mean of every column over the picks of every draw, wherever the picks come from:
    /// `COLUMNS` columns and `DRAWS` draws at a time.
    fn sums<const COLUMNS: usize, const DRAWS: usize, P: Copy + Into<u32>>(
        &self,
        columns: &[Vec<f64>],
        draws: usize,
        each: impl FnOnce(&mut dyn FnMut(usize, &[P])),
    ) -> Result<Vec<Vec<f64>>, StatsError> {
        for column in columns {
            if column.len() != self.len() {
                return Err(StatsError::Lengths { left: column.len(), right: self.len() });
            }
        }
        // Unit by unit: one pick reads one short row, and the sums stay in registers. An addition
        // takes as long as four that do not wait for each other, so there are eight of them: of
        // columns, or of draws where a single column is asked for. Each sum still runs in the order
        // of its picks.
        let lanes: Vec<Vec<[f64; COLUMNS]>> = columns
            .chunks(COLUMNS)
            .map(|group| {
                let row = |unit| {
                    std::array::from_fn(|lane| group.get(lane).map_or(0.0, |c: &Vec<f64>| c[unit]))
                };
                (0..self.len()).map(row).collect()
            })
            .collect();
        let mut results = vec![vec![0.0; draws]; columns.len()];
        let count = self.len();
        each(&mut |first, picks| {
            for (rows, results) in lanes.iter().zip(results.chunks_mut(COLUMNS)) {
                let mut sums = [[0.0; COLUMNS]; DRAWS];
                for at in 0..count {
                    for (draw, sums) in sums.iter_mut().enumerate() {
                        // Of the last draws there may be fewer: the others repeat one of them.
                        let place = (draw * count + at).min(picks.len() - 1);
                        let row = &rows[picks[place].into() as usize];
                        for (sum, value) in sums.iter_mut().zip(row) {
                            *sum += value;
                        }
                    }
                }
                for (column, result) in results.iter_mut().enumerate() {
                    for (result, sums) in result[first..].iter_mut().zip(&sums) {
                        *result = sums[column] / count as f64;
                    }
                }
            }
        });
        Ok(results)
    }
}

/// The percentile interval of the mean of `values`, one unit each, between two levels.
pub fn mean_interval(
    values: &[f64],
    levels: [f64; 2],
    draws: usize,
    seed: u64,
) -> Result<[f64; 2], StatsError> {
    crate::error::require_finite("the interval", values)?;
    if values.len() < MIN_SOURCES {
        let (found, needed) = (values.len(), MIN_SOURCES);
        return Err(StatsError::TooFewSources { found, needed });
    }
    let mut means = Units::plain(values.len()).means(&[values.to_vec()], draws, seed)?;
    let ends = crate::quantile::quantiles(&mut means[0], &levels);
    Ok([ends[0], ends[1]])
}

/// Picks that are kept at most: 64 MB of them, so 335 units in 100,000 draws. Of more units they
/// are drawn again for every question, which takes time and no memory.
const MOST_KEPT: usize = 32 << 20;

/// The picks of many draws over plain units, made once and summed over as often as is asked: most
/// of an interval's time goes into drawing.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    units: Units,
    draws: usize,
    seed: u64,
    /// Draw by draw; none where they are too many. There are fewer than [`crate::limit::LARGE`]
    /// units.
    picks: Vec<u16>,
}

impl Kept {
    pub(crate) fn new(count: usize, draws: usize, seed: u64) -> Self {
        Self::up_to(MOST_KEPT, count, draws, seed)
    }

    fn up_to(most: usize, count: usize, draws: usize, seed: u64) -> Self {
        let mut kept = Self { units: Units::plain(count), draws, seed, picks: Vec::new() };
        if draws * count <= most {
            let mut picks = Vec::with_capacity(draws * count);
            kept.blocks(draws, &mut |_, drawn| picks.extend_from_slice(drawn));
            kept.picks = picks;
        }
        kept
    }

    /// What [`Units::means`] gives with the same draws and seed.
    pub(crate) fn means(&self, columns: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, StatsError> {
        match columns.len() {
            0..=2 => self.units.sums::<1, LANES, _>(columns, self.draws, |v| self.blocks(LANES, v)),
            _ => self.units.sums::<LANES, 1, _>(columns, self.draws, |v| self.blocks(1, v)),
        }
    }

    /// Calls `visit` with the first of every so many draws, and their picks.
    fn blocks(&self, draws: usize, visit: &mut dyn FnMut(usize, &[u16])) {
        let length = draws * self.units.len();
        for (block, picks) in self.picks.chunks(length).enumerate() {
            visit(block * draws, picks);
        }
        if !self.picks.is_empty() {
            return;
        }
        let mut picks = Vec::new();
        self.units.resample(self.draws, self.seed, |draw, drawn| {
            picks.extend(drawn.iter().map(|pick| *pick as u16));
            if picks.len() == length || draw + 1 == self.draws {
                visit(draw / draws * draws, &picks);
                picks.clear();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::mean;
    use crate::{Layout, SourceTable};

    #[test]
    fn draws_center_on_the_mean() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i * i)).collect();
        let draws = Units::plain(20).means(std::slice::from_ref(&values), 50_000, 7).unwrap();
        let standard_error = crate::quantile::standard_deviation(&values) / 20f64.sqrt();
        let off = (mean(&draws[0]) - mean(&values)).abs() / standard_error;
        assert!(off < 4.0 / 50_000f64.sqrt(), "{off}");
    }

    #[test]
    fn strata_keep_their_sizes_and_clusters_move_whole() {
        let csv = "source,cluster,stratum,a\nw1,s1,v1,1\nw2,s1,v1,3\nw3,s2,v1,5\nw4,s3,v2,7\n";
        let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap();
        let units = Units::of(&table);
        assert_eq!(units.members(), [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(units.strata_and_singletons(), (2, 1));
        assert_eq!(units.average(&[1.0, 3.0, 5.0, 7.0]), [2.0, 5.0, 7.0]);
        units.resample(200, 1, |_, picks| {
            assert!(picks[0] < 2 && picks[1] < 2);
            assert_eq!(picks[2], 2);
        });
    }

    #[test]
    fn units_are_counted_and_only_clusters_are_clustered() {
        assert!(Units::plain(0).is_empty());
        let plain = Units::plain(3);
        assert_eq!((plain.len(), plain.is_empty(), plain.clustered()), (3, false, false));
        let of = |csv: &str| {
            Units::of(&SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap())
        };
        let clusters = of("source,cluster,a\nw1,s1,1\nw2,s1,3\nw3,s2,5\n");
        assert_eq!((clusters.len(), clusters.clustered()), (2, true));
        assert_eq!(clusters.strata_and_singletons(), (1, 0));
        let strata = of("source,stratum,a\nw1,v1,1\nw2,v2,3\nw3,v2,5\n");
        assert_eq!((strata.len(), strata.clustered()), (3, false));
        assert_eq!(strata.strata_and_singletons(), (2, 1));
        assert_eq!(of("source,a\nw1,1\nw2,3\n"), Units::plain(2));
    }

    /// By hand: deviations of 1 around 2, and of 4, 0 and 4 around 14.
    #[test]
    fn the_error_of_a_stratified_mean_is_what_its_draws_show() {
        let units = Units { strata: vec![2, 3], ..Units::plain(5) };
        let values = vec![1.0, 3.0, 10.0, 14.0, 18.0];
        let error = units.standard_error(&values);
        assert!((error - 34f64.sqrt() / 5.0).abs() < 1e-15);
        let far: Vec<f64> = values.iter().map(|v| v + 1e9).collect();
        assert_eq!(units.standard_error(&far), error, "far from zero");
        let draws = units.means(&[values], 50_000, 5).unwrap();
        let drawn = crate::quantile::standard_deviation(&draws[0]);
        assert!((drawn / error - 1.0).abs() < 0.02, "{drawn} {error}");
    }

    #[test]
    fn a_column_has_one_value_per_unit() {
        let units = Units::plain(3);
        for length in [2, 4] {
            let error = units.means(&[vec![1.0; 3], vec![1.0; length]], 10, 1).unwrap_err();
            assert_eq!(error, StatsError::Lengths { left: length, right: 3 });
        }
    }

    /// More columns than are summed together.
    #[test]
    fn every_column_is_averaged_over_the_same_picks() {
        let columns: Vec<Vec<f64>> =
            (0..11).map(|c| (0..6).map(|u| f64::from(7 * c + u * u)).collect()).collect();
        let units = Units::plain(6);
        let means = units.means(&columns, 50, 9).unwrap();
        units.resample(50, 9, |draw, picks| {
            for (column, means) in columns.iter().zip(&means) {
                let sum: f64 = picks.iter().map(|pick| column[*pick as usize]).sum();
                assert_eq!(means[draw], sum / 6.0);
            }
        });
    }

    #[test]
    fn an_interval_takes_enough_finite_values() {
        let levels = [0.025, 0.975];
        let few = vec![1.0; MIN_SOURCES - 1];
        assert!(matches!(
            mean_interval(&few, levels, 100, 1),
            Err(StatsError::TooFewSources { .. })
        ));
        let enough = vec![1.0; MIN_SOURCES];
        assert_eq!(mean_interval(&enough, levels, 100, 1).unwrap(), [1.0, 1.0]);
        assert!(mean_interval(&[1.0, 2.0, f64::NAN, 3.0, 4.0], levels, 100, 1).is_err());
        let [low, high] = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], levels, 2000, 1).unwrap();
        assert!(1.0 < low && low < 3.0 && 3.0 < high && high < 5.0, "{low} {high}");
    }

    #[test]
    fn picks_are_those_that_would_be_drawn_whether_kept_or_drawn_again() {
        let columns = [vec![1.0, 2.0, 4.0, 8.0, 16.0], vec![0.1, 0.7, 0.3, 0.9, 0.2]];
        let drawn = Units::plain(5).means(&columns, 1000, 3).unwrap();
        for (most, count) in [(5005, 5005), (5004, 0)] {
            let kept = Kept::up_to(most, 5, 1001, 3);
            assert_eq!(kept.picks.len(), count);
            let first = |means: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
                means.into_iter().map(|column| column[..1000].to_vec()).collect()
            };
            assert_eq!(first(kept.means(&columns).unwrap()), drawn);
            assert_eq!(first(kept.means(&columns[1..]).unwrap()), drawn[1..]);
            let many = [columns.clone(), columns.clone()].concat();
            let twice = [drawn.clone(), drawn.clone()].concat();
            assert_eq!(first(kept.means(&many).unwrap()), twice);
            // The last draws are fewer than are summed together.
            let last = Units::plain(5).means(&columns, 1001, 3).unwrap();
            assert_eq!(kept.means(&columns).unwrap(), last);
        }
    }

    #[test]
    fn columns_share_their_draws() {
        let a = vec![1.0, 2.0, 4.0, 8.0, 16.0];
        let negated: Vec<f64> = a.iter().map(|v| -v).collect();
        let draws = Units::plain(5).means(&[a, negated], 1000, 3).unwrap();
        assert!(draws[0].iter().zip(&draws[1]).all(|(x, y)| *x == -y));
    }
}
