//! What the study's rows say about the scores.

use backcut_stats::agreement::Agreement;
use backcut_systems::Stream;

use super::study::{AnalyticStudy, GRAPHS, Row};
use crate::orderings::{Advantage, Compared, advantage, agreement, fixed_orderings};
use backcut_lab::measure::MeasureError;

/// How often one ordering agrees with the labels.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The ordering.
    pub name: String,
    /// Its agreement.
    pub agreement: Agreement,
}

/// The study in numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// Cases: anchors times futures.
    pub cases: usize,
    /// `S_U`, `S_G`, and the fixed ordering FF, FD, KF, KD, against the labels.
    pub scores: Vec<Line>,
    /// The fixed ordering that agrees best. It is chosen on these labels, so its agreement flatters
    /// it.
    pub best_fixed: Line,
    /// The labels of one future against those of the other, at the same anchor.
    pub labels: Agreement,
    /// `S_U` and `S_G` again, for each optimizer alone.
    pub by_optimizer: Vec<Line>,
    /// Differences between the three, paired by source.
    pub advantages: Vec<(String, Advantage)>,
    /// Share of updates that the clip by the global norm acted on, by optimizer.
    pub clipped: Vec<(String, f64)>,
}

/// Agreement of every ordering over all cases, with intervals over whole seeds.
pub fn summarise(study: &AnalyticStudy, updates: u64) -> Result<Summary, MeasureError> {
    let cases: Vec<&[Row]> = study.rows.chunks_exact(GRAPHS.len()).collect();
    let by = |of: &dyn Fn(&Row) -> f64| -> Vec<Compared> {
        compare(&cases, |case| case.iter().map(of).collect())
    };
    let fixed = |ranks: &Vec<f64>| compare(&cases, |_| ranks.clone());
    let orderings = fixed_orderings(GRAPHS.len());
    let listed = [
        ("S_U", by(&|row| row.score_update)),
        ("S_G", by(&|row| row.score_gradient)),
        ("fixed: FF, FD, KF, KD", fixed(&orderings[0])),
    ];
    let line = |name: &str, compared: &[Compared]| -> Result<Line, MeasureError> {
        Ok(Line { name: name.to_owned(), agreement: agreement(compared)? })
    };
    let scores = listed.iter().map(|(name, c)| line(name, c)).collect::<Result<Vec<_>, _>>()?;
    let mut best: Option<(f64, Line)> = None;
    for ranks in &orderings {
        let found = line(&format!("best fixed: {}", spell(ranks)), &fixed(ranks))?;
        if best.as_ref().is_none_or(|(share, _)| found.agreement.share > *share) {
            best = Some((found.agreement.share, found));
        }
    }
    let (_, best_fixed) = best.ok_or_else(|| MeasureError::Unfit("no graphs".to_owned()))?;
    let advantages = [(0, 1), (0, 2), (1, 2)]
        .map(|(a, b): (usize, usize)| {
            let name = format!("{} - {}", listed[a].0, listed[b].0);
            advantage(&listed[a].1, &listed[b].1).map(|found| (name, found))
        })
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    let labels = agreement(&futures(&cases))?;
    let by_optimizer = each_optimizer(&cases)?;
    Ok(Summary {
        cases: cases.len(),
        scores,
        best_fixed,
        labels,
        by_optimizer,
        advantages,
        clipped: clipped(&study.rows, updates),
    })
}

fn compare(cases: &[&[Row]], left: impl Fn(&[Row]) -> Vec<f64>) -> Vec<Compared> {
    let of = |case: &&[Row]| Compared {
        source: case[0].seed.to_string(),
        left: left(case),
        right: case.iter().map(|row| row.error).collect(),
    };
    cases.iter().map(of).collect()
}

/// The two scores on the cases of one optimizer at a time.
fn each_optimizer(cases: &[&[Row]]) -> Result<Vec<Line>, MeasureError> {
    let mut lines = Vec::new();
    for optimizer in optimizers(cases.iter().map(|case| &case[0])) {
        let mine: Vec<&[Row]> =
            cases.iter().copied().filter(|case| case[0].optimizer == optimizer).collect();
        let score = |name: &str, of: &dyn Fn(&Row) -> f64| -> Result<Line, MeasureError> {
            let compared = compare(&mine, |case| case.iter().map(of).collect());
            Ok(Line { name: format!("{name}, {optimizer}"), agreement: agreement(&compared)? })
        };
        lines.push(score("S_U", &|row| row.score_update)?);
        lines.push(score("S_G", &|row| row.score_gradient)?);
    }
    Ok(lines)
}

/// Names of the optimizers, in the order they appear.
fn optimizers<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        if !names.contains(&row.optimizer) {
            names.push(row.optimizer.clone());
        }
    }
    names
}

/// Labels of stream a beside labels of stream b, anchor by anchor.
fn futures(cases: &[&[Row]]) -> Vec<Compared> {
    let anchor = |row: &Row| (row.seed, row.coupling.to_bits(), row.optimizer.clone());
    let of_stream = |stream| cases.iter().filter(move |case| case[0].future == stream);
    of_stream(Stream::A)
        .filter_map(|a| {
            let b = of_stream(Stream::B).find(|b| anchor(&b[0]) == anchor(&a[0]))?;
            let errors = |case: &[Row]| case.iter().map(|row| row.error).collect();
            Some(Compared { source: a[0].seed.to_string(), left: errors(a), right: errors(b) })
        })
        .collect()
}

/// Ranks as the graphs' names, best first.
fn spell(ranks: &[f64]) -> String {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by(|a, b| ranks[*a].total_cmp(&ranks[*b]));
    order.iter().map(|&i| GRAPHS[i].to_string()).collect::<Vec<_>>().join(", ")
}

fn clipped(rows: &[Row], updates: u64) -> Vec<(String, f64)> {
    let share = |name: &str| {
        let mine = rows.iter().filter(|row| row.optimizer == name);
        let (clipped, all) = mine.fold((0, 0), |(c, n), row| (c + row.clipped, n + updates));
        clipped as f64 / all.max(1) as f64
    };
    let names = optimizers(rows.iter());
    names.into_iter().map(|name| (name.clone(), share(&name))).collect()
}
