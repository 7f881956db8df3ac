//! One published number, ours beside it, and the comparison in words.

use backcut_ledger::{Standing, Status};
use backcut_stats::Verdict;
use backcut_stats::quantile::quantiles;
use backcut_tables::Judgement;

use crate::measured::{Measured, clipped, collected, correlated, curve, measured};
use crate::paper::{Compare, Entry, Statistic};
use backcut_report::estimate::{Estimate, same_contrast};
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
    /// The values per source; states of a source, of which there are many, are in the study's table only.
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
    let estimate = estimate(results, entry, study);
    if let (Statistic::Mean, Some(row), Some(mean)) =
        (entry.statistic, judged, judged.and_then(|row| row.mean))
    {
        let estimate = estimate.ok().map(|found| found.estimate);
        let ours = |value: f64| value * entry.scale + entry.shift;
        let sources =
            row.sources.map_or_else(|| estimate.as_ref().map_or(0, Estimate::n), |n| n as usize);
        return Ok(Ours {
            study: study.to_owned(),
            value: ours(mean),
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
        kind: kind.filter(|_| interval.is_some()).unwrap_or_else(usual),
        status: Status::Descriptive.into(),
        why: "computed from the tables by the report; no frozen contrast names it".to_owned(),
        verdict: None,
        n: estimate.n(),
        missing: estimate.missing,
        values: if of_states { Vec::new() } else { estimate.values },
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
    let found = match (&entry.expression, &entry.measure, &entry.curve) {
        (Some(expression), ..) => usual(results.estimate(study, expression)?),
        (_, Some(measure), _) if entry.statistic == Statistic::Spearman => {
            Measured { of_states: true, ..usual(correlated(results, measure, study)?) }
        }
        (_, Some(measure), _) => measured(results, measure, study)?,
        (_, _, Some(along)) => usual(curve(results, along, study)?),
        _ if !entry.clipped.is_empty() => usual(clipped(results, &entry.clipped, study)?),
        (None, None, None) => {
            collected(results, study)?;
            return Err(format!("study {study} does not measure it"));
        }
    };
    Ok(Measured { estimate: found.estimate.scaled(entry.scale), ..found })
}

/// What an entry makes of the values: a number, perhaps with an interval.
fn summarised(entry: &Entry, estimate: &Estimate) -> Result<(f64, Option<[f64; 2]>), String> {
    let values = || estimate.values.iter().map(|(_, value)| *value);
    let alone = |value: f64| Ok((value, None));
    match entry.statistic {
        Statistic::Mean => Ok((estimate.mean, estimate.interval)),
        Statistic::Spearman => alone(estimate.mean),
        // The median of a single source is its value, with the interval that it has.
        Statistic::Median if estimate.n() == 1 => Ok((estimate.mean, estimate.interval)),
        Statistic::Median => alone(quantiles(&mut values().collect::<Vec<_>>(), &[0.5])[0]),
        Statistic::Least => alone(values().fold(f64::INFINITY, f64::min)),
        Statistic::Greatest => alone(values().fold(f64::NEG_INFINITY, f64::max)),
        Statistic::Deviation => alone(estimate.deviation().ok_or("a spread needs two sources")?),
        Statistic::BelowZero => alone(estimate.below_zero() as f64),
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

/// How ours and the paper's stand to each other.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Agreement {
    /// Whether both lie on the same side of zero, or of what is neutral; unknown if the paper gives no value or
    /// the quantity has no direction.
    pub same_direction: Option<bool>,
    /// Whether the study here decided as the paper did; unknown unless both decide. A mean below a margin
    /// has the same sign on both sides of the question, so this is not the direction once more.
    pub same_decision: Option<bool>,
    /// Whether the intervals overlap; unknown without both.
    pub overlap: Option<bool>,
    /// (ours - paper's) / width of the paper's interval.
    pub widths: Option<f64>,
    /// ours / the paper's, for quantities that compare by it.
    pub factor: Option<f64>,
    /// In words.
    pub words: String,
}

/// Sizes within this factor of each other count as alike.
const ALIKE: f64 = 2.0;

impl Agreement {
    /// Whether ours and the paper's are within a factor of two.
    pub fn same_size(&self) -> Option<bool> {
        self.factor.map(|factor| (1.0 / ALIKE..=ALIKE).contains(&factor))
    }
}

/// Compares ours with the paper's.
pub fn agreement(entry: &Entry, ours: &Ours) -> Agreement {
    // "supported, not confirmed by the exact test" is the same decision: the interval decides.
    let paper_decided: Option<Verdict> = entry.decision.parse().ok();
    let decided = ours.verdict.as_ref().and_then(Judgement::verdict).map(Verdict::by_interval);
    let same_decision =
        paper_decided.map(Verdict::by_interval).zip(decided).map(|(theirs, ours)| theirs == ours);
    let Some(paper) = entry.paper else {
        let words = "the paper gives no number".to_owned();
        return Agreement { same_decision, words, ..Agreement::default() };
    };
    let counted = matches!(entry.statistic, Statistic::Deviation | Statistic::BelowZero)
        || entry.compare == Compare::Difference;
    let by_factor = entry.compare == Compare::Factor;
    let is_directed = !(counted || by_factor) || entry.neutral.is_some();
    let neutral = entry.neutral.unwrap_or(0.0);
    let same_direction = paper == neutral || (paper > neutral) == (ours.value > neutral);
    let overlap = match (entry.interval, ours.interval) {
        (Some(theirs), Some(mine)) if entry.compare != Compare::Sign => {
            Some(theirs[0] <= mine[1] && mine[0] <= theirs[1])
        }
        _ => None,
    };
    let width = entry.interval.map(|[low, high]| high - low).filter(|w| *w > 0.0);
    let widths = width.filter(|_| entry.compare == Compare::Size).map(|w| (ours.value - paper) / w);
    let factor = (by_factor && paper != 0.0).then(|| ours.value / paper);
    let mut words = if let Some(factor) = factor {
        let side = match (entry.neutral, same_direction) {
            (None, _) => String::new(),
            (Some(side), true) => format!("same side of {side}, "),
            (Some(side), false) => format!("other side of {side}, "),
        };
        format!("{side}{} times the paper's", backcut_text::format::number(factor))
    } else if counted {
        difference(ours.value, paper)
    } else {
        direction(entry, ours, same_direction, overlap)
    };
    if entry.compare == Compare::Sign {
        words += "; sizes do not compare";
    }
    let same_direction = is_directed.then_some(same_direction);
    Agreement { same_direction, same_decision, overlap, widths, factor, words }
}

fn difference(ours: f64, paper: f64) -> String {
    let size = if ours.abs() > paper.abs() { "larger" } else { "smaller" };
    if ours == paper {
        return "the same".to_owned();
    }
    format!("{size} by {}", backcut_text::format::number((ours - paper).abs()))
}

/// Direction and, where they compare, sizes and intervals in words.
fn direction(entry: &Entry, ours: &Ours, is_same: bool, overlap: Option<bool>) -> String {
    let open = |interval: Option<[f64; 2]>| interval.is_some_and(|[l, h]| l <= 0.0 && 0.0 <= h);
    let unresolved = (open(entry.interval), open(ours.interval));
    let size =
        if ours.value.abs() > entry.paper.unwrap_or_default().abs() { "larger" } else { "smaller" };
    match (is_same, overlap) {
        (true, _) if unresolved == (true, true) => "same direction, both unresolved".to_owned(),
        (false, _) if unresolved == (true, true) => "opposite signs, both unresolved".to_owned(),
        (true, None) if entry.compare == Compare::Sign => match unresolved {
            (_, true) => "same direction, ours unresolved".to_owned(),
            (true, _) => "same direction, the paper's unresolved".to_owned(),
            _ => "same direction".to_owned(),
        },
        (true, Some(true)) if unresolved.1 => "same direction, ours unresolved".to_owned(),
        (true, Some(true)) if unresolved.0 => "same direction, the paper's unresolved".to_owned(),
        (true, Some(true)) => "same direction, intervals overlap".to_owned(),
        (true, Some(false)) => format!("same direction, ours {size}; intervals apart"),
        (true, None) => format!("same direction, ours {size}"),
        (false, Some(true)) => "opposite signs, intervals overlap".to_owned(),
        (false, _) if unresolved.1 => "opposite signs, ours unresolved".to_owned(),
        (false, _) => "opposite direction".to_owned(),
    }
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
