//! One published number, ours beside it, and the comparison in words.

use std::collections::BTreeMap;

use backcut_ledger::{Standing, Status};
use backcut_stats::Verdict;
use backcut_tables::Judgement;

use crate::paper::{Entry, Measure, Statistic};
use backcut_report::estimate::{Estimate, Pick, same_contrast};
use backcut_report::results::{Judged, Results};

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
    /// The values per source.
    pub values: Vec<(String, f64)>,
}

/// Computes ours; the error says what is missing.
pub fn ours(results: &Results, entry: &Entry) -> Result<Ours, String> {
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
    let estimate = estimate(results, entry, study);
    if let (Statistic::Mean, Some(row), Some(mean)) =
        (entry.statistic, judged, judged.and_then(|row| row.mean))
    {
        let estimate = estimate.ok();
        let sources =
            row.sources.map_or_else(|| estimate.as_ref().map_or(0, Estimate::n), |n| n as usize);
        return Ok(Ours {
            study: study.to_owned(),
            value: mean * entry.scale,
            interval: row.interval().map(|[low, high]| [low * entry.scale, high * entry.scale]),
            kind: row.kind(),
            status: row.status.clone(),
            why: row.why.clone(),
            verdict: row.verdict.clone(),
            n: sources,
            missing: estimate.as_ref().map(|e| e.missing.clone()).unwrap_or_default(),
            values: estimate.map(|e| e.values).unwrap_or_default(),
        });
    }
    let estimate = estimate?;
    let (value, interval, kind) = match entry.statistic {
        Statistic::Mean => {
            (estimate.mean, estimate.interval, estimate.interval.map_or("", |_| "pointwise 95%"))
        }
        Statistic::Deviation => {
            let deviation = estimate.deviation().ok_or("a spread needs two sources")?;
            (deviation, None, "")
        }
        Statistic::BelowZero => (estimate.below_zero() as f64, None, ""),
    };
    Ok(Ours {
        study: study.to_owned(),
        value,
        interval,
        kind: kind.to_owned(),
        status: Status::Descriptive.into(),
        why: "computed from the tables by the report; no frozen contrast names it".to_owned(),
        verdict: None,
        n: estimate.n(),
        missing: estimate.missing,
        values: estimate.values,
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

fn estimate(results: &Results, entry: &Entry, study: &str) -> Result<Estimate, String> {
    let estimate = match (&entry.expression, &entry.measure) {
        (Some(expression), _) => results.estimate(study, expression)?,
        (None, Some(measure)) => measured(results, measure, study)?,
        (None, None) => return Err(format!("study {study} does not measure it")),
    };
    Ok(estimate.scaled(entry.scale))
}

fn measured(results: &Results, measure: &Measure, study: &str) -> Result<Estimate, String> {
    let Some(tables) = results.study(study) else {
        return Err(format!("study {study} was not collected"));
    };
    let exists = |q: &&String| tables.measurements.iter().any(|row| row.quantity == **q);
    let Some(quantity) = measure.quantity.iter().find(exists) else {
        return Err(format!("study {study} holds no `{}`", measure.quantity.join("` or `")));
    };
    let pick = Pick {
        quantity,
        arm: measure.arm.as_deref(),
        cut: measure.cut.as_deref(),
        part: measure.part.as_deref(),
    };
    let columns: Vec<(f64, BTreeMap<String, f64>)> = measure
        .at
        .iter()
        .map(|c| (1.0 / measure.at.len() as f64, c))
        .chain(measure.minus.iter().map(|c| (-1.0 / measure.minus.len() as f64, c)))
        .map(|(weight, condition)| (weight, results.measured(study, pick, condition)))
        .collect();
    let mut sources: Vec<&String> = columns.iter().flat_map(|(_, column)| column.keys()).collect();
    sources.sort();
    sources.dedup();
    let (mut values, mut missing) = (Vec::new(), Vec::new());
    for source in sources {
        let terms: Option<Vec<f64>> =
            columns.iter().map(|(w, column)| Some(w * column.get(source)?)).collect();
        match terms {
            Some(terms) => values.push((source.clone(), terms.iter().sum())),
            None => missing.push(source.clone()),
        }
    }
    if values.is_empty() {
        return Err(format!("no source of {study} has `{quantity}` at every condition needed"));
    }
    Ok(results.from_values(values, missing))
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

/// How ours and the paper's stand to each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Agreement {
    /// Whether both have the same sign; unknown if the paper gives no value.
    pub same_direction: Option<bool>,
    /// Whether the study here decided as the paper did; unknown unless both decide. A mean below a margin
    /// has the same sign on both sides of the question, so this is not the direction once more.
    pub same_decision: Option<bool>,
    /// Whether the intervals overlap; unknown without both.
    pub overlap: Option<bool>,
    /// (ours - paper's) / width of the paper's interval.
    pub widths: Option<f64>,
    /// In words.
    pub words: String,
}

/// Compares ours with the paper's.
pub fn agreement(entry: &Entry, ours: &Ours) -> Agreement {
    let Some(paper) = entry.paper else {
        return Agreement {
            same_direction: None,
            same_decision: None,
            overlap: None,
            widths: None,
            words: "the paper gives no number".to_owned(),
        };
    };
    let same_direction = paper == 0.0 || (paper > 0.0) == (ours.value > 0.0);
    let overlap = match (entry.interval, ours.interval) {
        (Some(theirs), Some(mine)) => Some(theirs[0] <= mine[1] && mine[0] <= theirs[1]),
        _ => None,
    };
    let width = entry.interval.map(|[low, high]| high - low).filter(|w| *w > 0.0);
    let widths = width.map(|w| (ours.value - paper) / w);
    let open = |interval: Option<[f64; 2]>| interval.is_some_and(|[l, h]| l <= 0.0 && 0.0 <= h);
    let unresolved = (open(entry.interval), open(ours.interval));
    let size = if ours.value.abs() > paper.abs() { "larger" } else { "smaller" };
    let counted = entry.statistic != Statistic::Mean;
    let words = match (same_direction, overlap) {
        _ if counted => {
            format!("{size} by {}", backcut_text::format::number((ours.value - paper).abs()))
        }
        (true, _) if unresolved == (true, true) => "same direction, both unresolved".to_owned(),
        (false, _) if unresolved == (true, true) => "opposite signs, both unresolved".to_owned(),
        (true, Some(true)) if unresolved.1 => "same direction, ours unresolved".to_owned(),
        (true, Some(true)) if unresolved.0 => "same direction, the paper's unresolved".to_owned(),
        (true, Some(true)) => "same direction, intervals overlap".to_owned(),
        (true, Some(false)) => format!("same direction, ours {size}; intervals apart"),
        (true, None) => format!("same direction, ours {size}"),
        (false, Some(true)) => "opposite signs, intervals overlap".to_owned(),
        (false, _) if unresolved.1 => "opposite signs, ours unresolved".to_owned(),
        (false, _) => "opposite direction".to_owned(),
    };
    let words = if counted && ours.value == paper { "the same".to_owned() } else { words };
    // "supported, not confirmed by the exact test" is the same decision: the interval decides.
    let paper_decided: Option<Verdict> = entry.decision.parse().ok();
    let decided = ours.verdict.as_ref().and_then(Judgement::verdict).map(Verdict::by_interval);
    let same_decision = paper_decided.zip(decided).map(|(theirs, ours)| theirs == ours);
    let same_direction = (!counted).then_some(same_direction);
    Agreement { same_direction, same_decision, overlap, widths, words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;

    #[test]
    fn every_decision_of_the_paper_is_a_verdict() {
        let paper = Paper::load().unwrap();
        let entries = paper.claims.iter().chain(paper.tables.iter().flat_map(|t| &t.rows));
        let mut decided = entries.filter(|e| !e.decision.is_empty()).peekable();
        assert!(decided.peek().is_some());
        assert!(decided.all(|e| e.decision.parse::<Verdict>().is_ok()));
    }
}
