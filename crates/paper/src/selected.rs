//! Ours where it is one number of a table, a correlation, a change of medians, or a count about a
//! curve.

use std::collections::BTreeMap;

use backcut_evidence::tables::Judgement;
use backcut_page::report::Results;
use backcut_page::report::estimate::{Estimate, same_contrast};
use backcut_stats::Verdict;
use backcut_stats::correlation::pearson;
use backcut_stats::quantile::{mean, quantiles};

use crate::entry::{ExtraPick, Measure, Shape, ShapeCount};
use crate::measured::{collected, measured};

/// A number that has no values per source.
fn alone(value: f64, count: usize) -> Estimate {
    let values = (1..=count).map(|i| (i.to_string(), value)).collect();
    Estimate { values, mean: value, interval: None, missing: Vec::new() }
}

/// A number of one of the tables that only some studies have.
pub fn extra(results: &Results, pick: &ExtraPick, study: &str) -> Result<Estimate, String> {
    let extras = &collected(results, study)?.extras;
    let table = extras.iter().find(|table| table.file == pick.file);
    let table = table.ok_or_else(|| format!("study {study} has no {}", pick.file))?;
    let column = |name: &str| {
        let found = table.columns.iter().position(|column| column == name);
        found.ok_or_else(|| format!("{} of {study} has no column `{name}`", pick.file))
    };
    let [key, wanted] = &pick.row;
    let key = column(key)?;
    let row = table.rows.iter().find(|row| row.get(key) == Some(wanted));
    let row = row.ok_or_else(|| format!("{} of {study} has no row `{wanted}`", pick.file))?;
    let number = |name: &str| -> Result<f64, String> {
        let text = row.get(column(name)?).map_or("", String::as_str);
        let is_number = |value: &f64| value.is_finite();
        text.parse().ok().filter(is_number).ok_or_else(|| {
            format!("{} of {study} has no number in `{name}` of `{wanted}`", pick.file)
        })
    };
    let below = pick.over.as_deref().map_or(Ok(1.0), number)?;
    Ok(alone(number(&pick.value)? / below, 0))
}

/// The correlation of two expressions over the sources that have both.
pub fn correlation(
    results: &Results,
    study: &str,
    expression: &str,
    other: &str,
) -> Result<Estimate, String> {
    let found = results.estimate(study, expression)?;
    let other: BTreeMap<String, f64> = results.estimate(study, other)?.values.into_iter().collect();
    let both = |(source, value): &(String, f64)| Some((*value, *other.get(source)?));
    let (x, y): (Vec<f64>, Vec<f64>) = found.values.iter().filter_map(both).unzip();
    let r = pearson(&x, &y).map_err(|error| format!("failed to {error}"))?;
    Ok(Estimate { mean: r, interval: None, ..found })
}

/// The median of a quantity over its median at the condition that the change is measured from, less
/// one.
pub fn median_change(
    results: &Results,
    measure: &Measure,
    study: &str,
) -> Result<Estimate, String> {
    let since = measure.since.clone().ok_or("no condition is named to measure a change from")?;
    let median = |at: Vec<String>| -> Result<(f64, Estimate), String> {
        let found = measured(results, &Measure { at, ..measure.clone() }, study)?.estimate;
        let mut values: Vec<f64> = found.values.iter().map(|(_, value)| *value).collect();
        Ok((quantiles(&mut values, &[0.5])[0], found))
    };
    let (before, _) = median(vec![since])?;
    let (after, found) = median(measure.at.clone())?;
    if before == 0.0 {
        return Err("the median that the change is measured from is zero".to_owned());
    }
    Ok(Estimate { mean: after / before - 1.0, interval: None, ..found })
}

/// A count about a curve over conditions.
pub fn shape(results: &Results, shape: &Shape, study: &str) -> Result<Estimate, String> {
    let at = |condition: &str| format!("({})", shape.curve.replace('*', condition));
    let [first, interior @ .., last] = shape.conditions.as_slice() else {
        return Err("a curve needs two ends".to_owned());
    };
    if shape.count == ShapeCount::PointsAboveBothEnds {
        let rows = &collected(results, study)?.analysis;
        let is_above = |point: &String, end: &String| -> Result<bool, String> {
            let [wanted, turned] =
                [(point, end), (end, point)].map(|(of, less)| format!("{} - {}", at(of), at(less)));
            let judged = |text: &str| rows.iter().find(|row| same_contrast(text, &row.expression));
            if let Some(row) = judged(&wanted) {
                return Ok(match row.verdict.as_ref().and_then(Judgement::verdict) {
                    Some(verdict) => verdict.by_interval() == Verdict::Supported,
                    None => row.interval().is_some_and(|[low, _]| low > 0.0),
                });
            }
            let row = judged(&turned).ok_or(format!("study {study} does not judge {wanted}"))?;
            Ok(row.interval().is_some_and(|[_, high]| high < 0.0))
        };
        let mut count = 0;
        for point in interior {
            count += usize::from(is_above(point, first)? && is_above(point, last)?);
        }
        return Ok(alone(count as f64, interior.len()));
    }
    let mut curve: Vec<BTreeMap<String, f64>> = Vec::new();
    for condition in &shape.conditions {
        curve.push(results.estimate(study, &at(condition))?.values.into_iter().collect());
    }
    let has_all = |source: &&String| curve.iter().all(|values| values.contains_key(*source));
    let sources: Vec<&String> = curve[0].keys().filter(has_all).collect();
    let without = |place: usize, left_out: Option<&String>| {
        let kept = sources.iter().filter(|source| Some(**source) != left_out);
        mean(&kept.map(|source| curve[place][*source]).collect::<Vec<_>>())
    };
    let end = curve.len() - 1;
    let highest = (1..end).max_by(|a, b| without(*a, None).total_cmp(&without(*b, None)));
    let highest = highest.ok_or("a curve without an interior has no highest point")?;
    let stays = |source: &&&String| {
        let top = without(highest, Some(source));
        top > without(0, Some(source)) && top > without(end, Some(source))
    };
    let count = sources.iter().filter(stays).count();
    Ok(alone(count as f64, sources.len()))
}
