//! Ours for one published number.

use backcut_evidence::ledger::{Standing, Status};
use backcut_evidence::tables::Judgement;
use backcut_stats::bootstrap::mean_interval;
use backcut_stats::quantile::quantiles;
use backcut_stats::{DRAWS, SEED};

use crate::entry::{Entry, Statistic};
use crate::measured::{Measured, clipped, collected, correlated, curve, measured};
use crate::selected::{correlation, extra, median_change, shape};
use backcut_page::report::estimate::{Estimate, same_contrast};
use backcut_page::report::results::{Judged, Results};

/// Studies that a small run can stand in for, with less precision.
const QUICK: &str = "quick";
const QUICK_FOR: [&str; 2] = ["c5", "c6"];

/// Ours for one entry of the paper.
#[derive(Clone, Debug)]
pub struct Ours {
    /// The study that it comes from.
    pub study: String,
    /// The number.
    pub value: f64,
    /// The interval, if there is one.
    pub interval: Option<[f64; 2]>,
    /// The pointwise 95% interval, which comparisons rest on.
    pub pointwise: Option<[f64; 2]>,
    /// What kind of interval.
    pub kind: String,
    /// What it may claim.
    pub status: Standing,
    /// Why the ledger granted it.
    pub why: String,
    /// The study's verdict, if it judged this contrast.
    pub verdict: Option<Judgement>,
    /// Sources that it rests on; 0 where the study does not say.
    pub n: usize,
    /// Sources that were left out because a value is missing.
    pub missing: Vec<String>,
    /// The values per source; states of a source, of which there are many, are in the study's table
    /// only.
    pub values: Vec<(String, f64)>,
}

/// Computes ours; the error says what is missing.
pub fn ours(results: &Results, entry: &Entry) -> Result<Ours, String> {
    if let Some(why) = &entry.absent {
        return Err(why.clone());
    }
    let mut first_problem = None;
    for study in candidates(&entry.study) {
        if results.study(study).is_none() && study == QUICK {
            continue;
        }
        match ours_in(results, entry, study) {
            Ok(ours) => return Ok(ours),
            Err(problem) => {
                first_problem.get_or_insert(problem);
            }
        }
    }
    Err(first_problem.unwrap_or_else(|| format!("study {} was not collected", entry.study)))
}

fn candidates(study: &str) -> Vec<&str> {
    let mut all = vec![study];
    all.extend(QUICK_FOR.contains(&study).then_some(QUICK));
    all
}

fn ours_in(results: &Results, entry: &Entry, study: &str) -> Result<Ours, String> {
    // A pointwise interval is computed here; a family's is read from the study that judged it.
    let judged = judged(results, entry, study)
        .filter(|_| !entry.kind.starts_with("pointwise") || entry.measure.is_some());
    if let Statistic::AdjustedP | Statistic::Floor = entry.statistic {
        return tested(results, entry, study);
    }
    let estimate = estimate(results, entry, study);
    if let (Statistic::Mean, Some(row), Some(mean)) =
        (entry.statistic, judged, judged.and_then(|row| row.mean))
    {
        let estimate = estimate.ok().map(|found| found.estimate);
        let ours = |value: f64| value * entry.scale + entry.shift;
        let sources =
            row.sources.map_or_else(|| estimate.as_ref().map_or(0, Estimate::n), |n| n as usize);
        // A family of one is its own pointwise interval.
        let alone = row.interval().filter(|_| row.size.is_none_or(|size| size == 1));
        let read = row.pointwise.or(alone).map(|ends| ends.map(ours));
        return Ok(Ours {
            study: study.to_owned(),
            value: ours(mean),
            pointwise: estimate.as_ref().and_then(|e| e.interval).or(read),
            interval: row.interval().map(|ends| ends.map(ours)),
            kind: row.kind(),
            status: row.status.clone(),
            why: row.why.clone(),
            verdict: row.verdict.clone(),
            n: sources,
            missing: estimate.as_ref().map(|e| e.missing.clone()).unwrap_or_default(),
            values: estimate.map(|e| e.values).unwrap_or_default(),
        });
    }
    let Measured { estimate, kind, of_states } = estimate?;
    let (value, interval) = summarised(entry, &estimate)?;
    let usual = || if interval.is_some() { "pointwise 95%" } else { "" }.to_owned();
    Ok(Ours {
        study: study.to_owned(),
        value,
        interval,
        pointwise: interval,
        kind: kind.filter(|_| interval.is_some()).unwrap_or_else(usual),
        status: Status::Descriptive.into(),
        why: "computed from the tables by the report; no frozen contrast names it".to_owned(),
        verdict: None,
        n: estimate.n(),
        missing: estimate.missing,
        values: if of_states { Vec::new() } else { estimate.values },
    })
}

/// What the exact test of the contrast says.
fn tested(results: &Results, entry: &Entry, study: &str) -> Result<Ours, String> {
    collected(results, study)?;
    let missing = || format!("study {study} has no exact test of it");
    let row = judged(results, entry, study).ok_or_else(missing)?;
    let p = if entry.statistic == Statistic::Floor { row.floor } else { row.adjusted_p };
    Ok(Ours {
        study: study.to_owned(),
        value: p.ok_or_else(missing)?,
        interval: None,
        pointwise: None,
        kind: String::new(),
        status: row.status.clone(),
        why: row.why.clone(),
        verdict: None,
        n: row.sources.unwrap_or_default() as usize,
        missing: Vec::new(),
        values: Vec::new(),
    })
}

/// The row of the study's analysis that is this contrast, by meaning or by name.
fn judged<'r>(results: &'r Results, entry: &Entry, study: &str) -> Option<&'r Judged> {
    let rows = &results.study(study)?.analysis;
    let by_name = |row: &&Judged| {
        entry.names.iter().any(|name| *name == format!("{}/{}", row.family, row.contrast))
    };
    let by_meaning = |row: &&Judged| {
        entry.expression.as_deref().is_some_and(|text| same_contrast(text, &row.expression))
    };
    rows.iter().find(by_meaning).or_else(|| rows.iter().find(by_name))
}

fn estimate(results: &Results, entry: &Entry, study: &str) -> Result<Measured, String> {
    let usual = |estimate: Estimate| Measured { estimate, kind: None, of_states: false };
    // A number of all sources that is no mean of theirs.
    let whole = |estimate: Estimate| Measured { of_states: true, ..usual(estimate) };
    let found = match (&entry.expression, &entry.measure, &entry.curve) {
        (Some(expression), ..) => match &entry.with {
            Some(other) => whole(correlation(results, study, expression, other)?),
            None => usual(results.estimate(study, expression)?),
        },
        (_, Some(measure), _) if entry.statistic == Statistic::MedianChange => {
            whole(median_change(results, measure, study)?)
        }
        (_, Some(measure), _) if entry.statistic == Statistic::Spearman => {
            whole(correlated(results, measure, study)?)
        }
        (_, Some(measure), _) => measured(results, measure, study)?,
        (_, _, Some(along)) => usual(curve(results, along, study)?),
        _ if !entry.clipped.is_empty() => {
            usual(clipped(results, &entry.clipped, &entry.clipped_at, study)?)
        }
        _ if entry.extra.is_some() || entry.shape.is_some() => {
            usual(single(results, entry, study)?)
        }
        (None, None, None) => {
            collected(results, study)?;
            return Err(format!("study {study} does not measure it"));
        }
    };
    Ok(Measured { estimate: found.estimate.scaled(entry.scale), ..found })
}

/// A single number of a table, or a count about a curve.
fn single(results: &Results, entry: &Entry, study: &str) -> Result<Estimate, String> {
    match (&entry.extra, &entry.shape) {
        (Some(pick), _) => extra(results, pick, study),
        (_, Some(curve)) => shape(results, curve, study),
        (None, None) => Err("no number is named".to_owned()),
    }
}

/// What an entry makes of the values: a number, perhaps with an interval.
fn summarised(entry: &Entry, estimate: &Estimate) -> Result<(f64, Option<[f64; 2]>), String> {
    let values = || estimate.values.iter().map(|(_, value)| *value);
    let alone = |value: f64| Ok((value, None));
    match entry.statistic {
        Statistic::Mean => Ok((estimate.mean, estimate.interval)),
        Statistic::Spearman | Statistic::Pearson | Statistic::MedianChange => alone(estimate.mean),
        Statistic::Upper | Statistic::Lower => {
            let plain: Vec<f64> = values().collect();
            let [low, high] = mean_interval(&plain, [0.05, 0.95], DRAWS, SEED)
                .map_err(|error| format!("failed to {error}"))?;
            alone(if entry.statistic == Statistic::Upper { high } else { low })
        }
        // The median of a single source is its value, with the interval that it has.
        Statistic::Median if estimate.n() == 1 => Ok((estimate.mean, estimate.interval)),
        Statistic::Median => alone(quantiles(&mut values().collect::<Vec<_>>(), &[0.5])[0]),
        Statistic::Least => alone(values().fold(f64::INFINITY, f64::min)),
        Statistic::Greatest => alone(values().fold(f64::NEG_INFINITY, f64::max)),
        Statistic::Deviation => alone(estimate.deviation().ok_or("a spread needs two sources")?),
        Statistic::BelowZero => alone(estimate.below_zero() as f64),
        Statistic::AdjustedP | Statistic::Floor => Err("an exact test has no values".to_owned()),
    }
}

impl Ours {
    /// The study and how many of its sources the number rests on.
    pub fn place(&self) -> String {
        match self.n {
            0 => self.study.clone(),
            n => format!("{}, n = {n}", self.study),
        }
    }

    /// The status with the study's decision, which may differ where the numbers look alike.
    pub fn standing(&self) -> String {
        let place = self.place();
        match &self.verdict {
            None => format!("{} ({place})", self.status),
            Some(verdict) => format!("{} ({place}): {verdict}", self.status),
        }
    }
}
