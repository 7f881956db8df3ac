//! Label agreement: how often two orderings of pairs match, with intervals over whole clusters.
//!
//! Each item is one pair of alternatives ordered twice (by a score and by what happened, or by two
//! repetitions of what happened). An exact tie on either side counts one half, so chance is 50%.
//! Items of one stream are not independent, so the bootstrap resamples streams.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::bootstrap::Units;
use crate::error::StatsError;
use crate::family::MIN_SOURCES;
use crate::quantile::quantiles;

/// One pair, ordered twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelPair {
    /// The stream or source that the pair comes from.
    pub cluster: String,
    /// The first ordering of the pair.
    pub left: Ordering,
    /// The second ordering of the same pair.
    pub right: Ordering,
}

/// The share of matching orderings.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Agreement {
    /// The share, ties counted one half.
    pub share: f64,
    /// The percentile interval over whole clusters.
    pub interval: [f64; 2],
    /// How many pairs.
    pub pairs: usize,
    /// How many of them had a tie.
    pub ties: usize,
    /// How many clusters.
    pub clusters: usize,
}

/// Agreement over pairs with an interval between two levels, resampling clusters.
pub fn label_agreement(
    pairs: &[LabelPair],
    levels: [f64; 2],
    draws: usize,
    seed: u64,
) -> Result<Agreement, StatsError> {
    let mut clusters: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let mut ties = 0;
    for pair in pairs {
        let tied = pair.left == Ordering::Equal || pair.right == Ordering::Equal;
        ties += usize::from(tied);
        let score = if tied { 0.5 } else { f64::from(u8::from(pair.left == pair.right)) };
        let (matches, count) = clusters.entry(&pair.cluster).or_default();
        *matches += score;
        *count += 1.0;
    }
    if clusters.len() < MIN_SOURCES {
        return Err(StatsError::TooFewSources { found: clusters.len(), needed: MIN_SOURCES });
    }
    // A share of pairs is a ratio of means over clusters; clusters may differ in size.
    let (matches, counts): (Vec<f64>, Vec<f64>) = clusters.values().copied().unzip();
    let share = matches.iter().sum::<f64>() / counts.iter().sum::<f64>();
    let units = Units::plain(clusters.len());
    let means = units.means(&[matches, counts], draws, seed)?;
    let mut shares: Vec<f64> = means[0].iter().zip(&means[1]).map(|(m, c)| m / c).collect();
    let ends = quantiles(&mut shares, &levels);
    let interval = [ends[0], ends[1]];
    Ok(Agreement { share, interval, pairs: pairs.len(), ties, clusters: clusters.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_count_half_and_clusters_are_the_unit() {
        let pair = |cluster: &str, left, right| LabelPair { cluster: cluster.into(), left, right };
        let mut pairs = Vec::new();
        for cluster in ["a", "b", "c", "d"] {
            pairs.push(pair(cluster, Ordering::Less, Ordering::Less));
            pairs.push(pair(cluster, Ordering::Less, Ordering::Greater));
            pairs.push(pair(cluster, Ordering::Equal, Ordering::Greater));
        }
        let got = label_agreement(&pairs, [0.025, 0.975], 2000, 1).unwrap();
        assert_eq!((got.share, got.ties, got.clusters), (0.5, 4, 4));
        // Every cluster has the same share, so no draw can differ.
        assert_eq!(got.interval, [0.5, 0.5]);
        assert!(label_agreement(&pairs[..6], [0.025, 0.975], 2000, 1).is_err());
    }

    /// Clusters of one, two, three and four pairs: 1 + 1.5 + 0 + 4 of 10 match.
    #[test]
    fn a_share_is_of_pairs_and_a_tie_on_either_side_is_one() {
        use Ordering::{Equal, Greater, Less};
        let pair = |cluster: &str, left, right| LabelPair { cluster: cluster.into(), left, right };
        let mut pairs = vec![
            pair("a", Greater, Greater),
            pair("b", Less, Less),
            pair("b", Less, Equal),
            pair("c", Less, Greater),
            pair("c", Greater, Less),
            pair("c", Greater, Less),
        ];
        pairs.extend((0..4).map(|_| pair("d", Less, Less)));
        let got = label_agreement(&pairs, [0.025, 0.975], 2000, 1).unwrap();
        assert!((got.share - 0.65).abs() < 1e-15, "{}", got.share);
        assert_eq!((got.pairs, got.ties, got.clusters), (10, 1, 4));
        let [low, high] = got.interval;
        assert!(0.0 <= low && low < got.share && got.share < high && high <= 1.0, "{low} {high}");
        let both = vec![pair("a", Equal, Equal); 2];
        let pairs = [pairs, both].concat();
        let got = label_agreement(&pairs, [0.025, 0.975], 2000, 1).unwrap();
        assert_eq!((got.pairs, got.ties), (12, 3));
    }
}
