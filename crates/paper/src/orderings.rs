//! Orderings of graphs, and how often two of them agree.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use backcut_stats::agreement::{Agreement, LabelPair, label_agreement};
use backcut_stats::bootstrap::mean_interval;
use backcut_stats::{DRAWS, SEED};

use backcut_lab::measure::MeasureError;

/// The levels of every interval here.
const LEVELS: [f64; 2] = [0.025, 0.975];

/// The graphs of one case in two orderings: a value per graph, lower is better.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The source (seed or stream) that the case comes from; sources are resampled whole.
    pub source: String,
    /// The first ordering, for example a score.
    pub left: Vec<f64>,
    /// The second, for example the error after persistent training.
    pub right: Vec<f64>,
}

impl Compared {
    fn pairs(&self) -> Result<Vec<LabelPair>, MeasureError> {
        let values = self.left.iter().chain(&self.right);
        if self.left.len() != self.right.len() || values.clone().any(|v| !v.is_finite()) {
            let what = format!("the graphs of `{}` have no two orderings to compare", self.source);
            return Err(MeasureError::Unfit(what));
        }
        let order = |v: &[f64], i: usize, j: usize| v[i].partial_cmp(&v[j]);
        let graphs = self.left.len();
        let each = (0..graphs).flat_map(|i| (i + 1..graphs).map(move |j| (i, j)));
        Ok(each
            .filter_map(|(i, j)| {
                let (left, right) = (order(&self.left, i, j)?, order(&self.right, i, j)?);
                Some(LabelPair { cluster: self.source.clone(), left, right })
            })
            .collect())
    }
}

/// The share of graph pairs that both orderings order alike, ties one half, with a 95% interval
/// over whole sources.
pub fn agreement(cases: &[Compared]) -> Result<Agreement, MeasureError> {
    let pairs: Vec<LabelPair> =
        cases.iter().map(Compared::pairs).collect::<Result<Vec<_>, _>>()?.concat();
    label_agreement(&pairs, LEVELS, DRAWS, SEED).map_err(|e| MeasureError::Unfit(e.to_string()))
}

/// The same among the pairs that another ordering of each case (`again`, case by case) orders as
/// the second one does.
pub fn agreement_of_both(
    cases: &[Compared],
    again: &[Vec<f64>],
) -> Result<Agreement, MeasureError> {
    let mut kept = Vec::new();
    for (case, again) in cases.iter().zip(again) {
        let beside = Compared { left: again.clone(), ..case.clone() };
        let both = case.pairs()?.into_iter().zip(beside.pairs()?);
        kept.extend(both.filter(|(_, b)| b.left == b.right).map(|(pair, _)| pair));
    }
    label_agreement(&kept, LEVELS, DRAWS, SEED).map_err(|e| MeasureError::Unfit(e.to_string()))
}

/// How much more one list of orderings agrees than another, case by case the same labels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Advantage {
    /// Difference of the two shares.
    pub difference: f64,
    /// Its 95% interval over whole sources.
    pub interval: [f64; 2],
}

/// The agreement of `ours` minus that of `theirs`. Both have the same sources, with the same number
/// of pairs each.
pub fn advantage(ours: &[Compared], theirs: &[Compared]) -> Result<Advantage, MeasureError> {
    let (a, b) = (by_source(ours)?, by_source(theirs)?);
    let sizes = |m: &BTreeMap<String, (f64, usize)>| {
        m.iter().map(|(source, (_, count))| (source.clone(), *count)).collect::<Vec<_>>()
    };
    let counts = sizes(&a);
    if counts != sizes(&b) || counts.iter().any(|(_, count)| *count != counts[0].1) {
        let what = "an advantage compares orderings of the same cases, equally many per source";
        return Err(MeasureError::Unfit(what.to_owned()));
    }
    let share = |&(matches, count): &(f64, usize)| matches / count as f64;
    let each: Vec<f64> = a.values().zip(b.values()).map(|(a, b)| share(a) - share(b)).collect();
    let interval = mean_interval(&each, LEVELS, DRAWS, SEED)
        .map_err(|error| MeasureError::Unfit(error.to_string()))?;
    Ok(Advantage { difference: each.iter().sum::<f64>() / each.len() as f64, interval })
}

/// Matches and pairs of every source.
fn by_source(cases: &[Compared]) -> Result<BTreeMap<String, (f64, usize)>, MeasureError> {
    let mut sources: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    for case in cases {
        let (matches, count) = sources.entry(case.source.clone()).or_default();
        for pair in case.pairs()? {
            let tied = [pair.left, pair.right].contains(&Ordering::Equal);
            *matches += if tied { 0.5 } else { f64::from(u8::from(pair.left == pair.right)) };
            *count += 1;
        }
    }
    Ok(sources)
}

/// Every fixed ordering of `graphs` alternatives, as ranks, in lexicographic order; the first keeps
/// the alternatives as they are listed.
pub fn fixed_orderings(graphs: usize) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::new()];
    for _ in 0..graphs {
        let grow = |ranks: &Vec<usize>| {
            let free: Vec<usize> = (0..graphs).filter(|r| !ranks.contains(r)).collect();
            let with = |rank| ranks.iter().copied().chain([rank]).collect::<Vec<usize>>();
            free.into_iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(grow).collect();
    }
    all.iter().map(|ranks| ranks.iter().map(|&r| r as f64).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(source: usize, left: &[f64], right: &[f64]) -> Compared {
        Compared { source: source.to_string(), left: left.to_vec(), right: right.to_vec() }
    }

    #[test]
    fn agreement_counts_pairs_and_halves_ties() {
        let cases: Vec<Compared> = (0..4)
            // Of (0,1), (0,2), (1,2): alike, tied on the left, reversed.
            .map(|s| case(s, &[1.0, 2.0, 1.0], &[0.0, 5.0, 7.0]))
            .collect();
        let got = agreement(&cases).unwrap();
        assert_eq!((got.share, got.pairs, got.ties), (0.5, 12, 4));
    }

    #[test]
    fn agreement_of_both_leaves_out_what_the_labels_do_not_repeat() {
        // Again the second pair is turned round; of the two that are left the score has one.
        let cases: Vec<Compared> =
            (0..4).map(|s| case(s, &[1.0, 2.0, 0.0], &[0.0, 5.0, 7.0])).collect();
        let got = agreement_of_both(&cases, &vec![vec![3.0, 8.0, 1.0]; 4]).unwrap();
        assert_eq!((got.share, got.pairs), (1.0, 4));
        let got = agreement_of_both(&cases, &vec![vec![0.0, 5.0, 7.0]; 4]).unwrap();
        assert_eq!(got, agreement(&cases).unwrap());
    }

    #[test]
    fn zeros_of_either_sign_are_one_tie() {
        let cases: Vec<Compared> = (0..4).map(|s| case(s, &[0.0, -0.0], &[1.0, 2.0])).collect();
        assert_eq!(agreement(&cases).unwrap().ties, 4);
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        let cases: Vec<Compared> = (0..4).map(|s| case(s, &[0.0, f64::NAN], &[1.0, 2.0])).collect();
        assert!(agreement(&cases).is_err());
        assert!(advantage(&cases, &cases).is_err());
    }

    #[test]
    fn an_advantage_is_the_difference_of_agreements() {
        let right = [3.0, 1.0, 2.0];
        let ours: Vec<Compared> = (0..6).map(|s| case(s, &right, &right)).collect();
        let theirs: Vec<Compared> = (0..6).map(|s| case(s, &[0.0, 1.0, 2.0], &right)).collect();
        let got = advantage(&ours, &theirs).unwrap();
        let shares = agreement(&ours).unwrap().share - agreement(&theirs).unwrap().share;
        assert!((got.difference - shares).abs() < 1e-12);
        assert_eq!(got.interval, [got.difference, got.difference], "every source is alike");
    }

    #[test]
    fn fixed_orderings_are_all_permutations() {
        let all = fixed_orderings(4);
        assert_eq!(all.len(), 24);
        assert_eq!(all[0], [0.0, 1.0, 2.0, 3.0]);
        let mut distinct: Vec<String> = all.iter().map(|o| format!("{o:?}")).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 24);
    }
}
