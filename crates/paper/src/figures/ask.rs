//! Answers to a figure's questions.

use std::collections::BTreeMap;

use backcut_evidence::tables::UnitState;
use backcut_evidence::tables::rows::Observation;
use backcut_page::report::Results;
use backcut_page::report::chart::{Beside, Middle};
use backcut_page::report::estimate::Estimate;
use backcut_stats::quantile::{mean, quantiles};
use serde::Deserialize;

use super::spec::{Ask, Rows, RowsMiddle};
use crate::entry::Published;
use crate::measured::{collected, curve, measured};
use crate::paper::Paper;

/// What stands at a place, and what its large mark is.
pub fn ask(results: &Results, study: &str, ask: &Ask) -> Result<(Estimate, Middle), String> {
    let (found, middle) = match (&ask.expression, &ask.measure, &ask.curve, &ask.rows) {
        (Some(expression), ..) => (results.estimate(study, expression)?, Middle::Mean),
        (_, Some(measure), ..) => (measured(results, measure, study)?.estimate, Middle::Mean),
        (_, _, Some(along), _) => (curve(results, along, study)?, Middle::Mean),
        (.., Some(rows)) => of_rows(results, study, rows)?,
        (None, None, None, None) => return Err("nothing is asked".to_owned()),
    };
    Ok((found.scaled(ask.scale), middle))
}

/// Rows by name, in the order of the table.
fn named(results: &Results, study: &str, asked: &Rows) -> Result<Vec<(String, f64)>, String> {
    let Rows { quantity, arms, cut, part, update, name, .. } = asked;
    let fits = |row: &&Observation| {
        let own = row.part.as_deref().unwrap_or_default();
        row.state == UnitState::Done
            && (arms.is_empty() || arms.contains(&row.arm))
            && row.of.as_deref().unwrap_or_default() == cut
            && update.is_none_or(|update| update == row.update)
            && part.as_deref().is_none_or(|part| match part.strip_suffix('*') {
                Some(start) => own.starts_with(start),
                None => own == part,
            })
    };
    let called = |row: &Observation| {
        let own = row.part.as_deref().unwrap_or_default();
        let words = [("<source>", &*row.source), ("<arm>", &row.arm), ("<part>", own)];
        let words = words.into_iter().chain([("<condition>", &*row.condition)]);
        words.fold(name.clone(), |name, (word, own)| name.replace(word, own))
    };
    let rows = collected(results, study)?.measured(quantity).filter(fits);
    Ok(rows.filter_map(|row| Some((called(row), row.value?))).collect())
}

fn of_rows(results: &Results, study: &str, asked: &Rows) -> Result<(Estimate, Middle), String> {
    let mut values = named(results, study, asked)?;
    if let Some(over) = &asked.over {
        let there = Rows {
            quantity: over.quantity.clone().unwrap_or_else(|| asked.quantity.clone()),
            cut: over.cut.clone().unwrap_or_else(|| asked.cut.clone()),
            part: over.part.clone().or_else(|| asked.part.clone()),
            arms: over.arm.clone().map_or_else(|| asked.arms.clone(), |arm| vec![arm]),
            ..asked.clone()
        };
        let below: BTreeMap<String, f64> = named(results, study, &there)?.into_iter().collect();
        values = values
            .into_iter()
            .filter_map(|(name, value)| {
                let below = below.get(&name).filter(|below| **below != 0.0)?;
                Some((name, value / below))
            })
            .collect();
    }
    if values.is_empty() {
        return Err(format!("study {study} holds no `{}` there", asked.quantity));
    }
    let mut plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let root = |value: f64| if asked.root { value.sqrt() } else { value };
    let found = quantiles(&mut plain, &[0.16, 0.5, 0.84]);
    let average = mean(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    let alone = |value: f64, name: &str| Estimate {
        values: vec![(name.to_owned(), value)],
        mean: value,
        interval: None,
        missing: Vec::new(),
    };
    let several = |mean, interval| Estimate { values, mean, interval, missing: Vec::new() };
    Ok(match asked.middle {
        RowsMiddle::Median => (several(found[1], Some([found[0], found[2]])), Middle::Median),
        RowsMiddle::Mean => (several(average, None), Middle::Mean),
        RowsMiddle::MedianAlone => {
            let name = if plain.len() > 1 { "median of sources" } else { "" };
            (alone(root(found[1]), name), Middle::Alone)
        }
        RowsMiddle::MeanAlone => (alone(root(average), "mean"), Middle::Alone),
    })
}

/// Where a value of the paper stands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theirs {
    /// In a table's row of the same expression.
    table: Option<String>,
    /// In a claim: the first of these that there is.
    #[serde(default)]
    claim: Vec<String>,
    /// In a table's row: `table|id|condition`.
    cell: Option<String>,
    /// No value of the paper: what even attention gives to an age, up to the last one.
    even: Option<String>,
    last: Option<String>,
    /// A claim about a difference in another unit: what the difference is by these two rows' means.
    by: Option<[String; 2]>,
    /// What it is, in words.
    what: String,
}

/// The paper's value for a place whose question was this one, if it has one.
pub fn theirs(paper: &Paper, question: &Ask, asked: &Theirs) -> Option<Beside> {
    let cell = |text: &str| -> Option<Published> {
        let mut names = text.splitn(3, '|');
        paper.cell(names.next()?, names.next()?, names.next().unwrap_or_default())
    };
    let claim = asked.claim.iter().find_map(|id| paper.claim(id)?.published());
    let of_table = || paper.published(asked.table.as_deref()?, question.expression.as_deref()?);
    let even = || {
        Some((question.scale * even_share(asked.even.as_deref()?, asked.last.as_deref()?)?, None))
    };
    let found = claim.or_else(of_table).or_else(|| cell(asked.cell.as_deref()?)).or_else(even);
    let (mut value, mut interval) = found?;
    if let Some([one, other]) = &asked.by {
        // The means that it prints in both units say what one is in the other.
        let scaled = cell(one)?.0 - cell(other)?.0;
        let unit = Some(scaled / value).filter(|unit| unit.is_finite() && *unit > 0.0)?;
        (value, interval) = (scaled, interval.map(|ends| ends.map(|end| end * unit)));
    }
    Some(Beside { value, interval, what: asked.what.clone() })
}

/// First and last age of a bin: `1`, `4-7`, with whatever stands before a blank.
fn span(age: &str) -> Option<(usize, usize)> {
    let age = age.rsplit(' ').next().unwrap_or(age);
    let (first, last) = age.split_once('-').unwrap_or((age, age));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// What even attention gives to the ages of a bin, in a rollout whose last bin is `last`: query t has t + 1 positions.
fn even_share(age: &str, last: &str) -> Option<f64> {
    let ((first, end), (_, last)) = (span(age)?, span(last)?);
    let of_age = |age: usize| {
        let queries = age.max(1)..=last;
        let count = queries.clone().count() as f64;
        queries.map(|t| 1.0 / (t + 1) as f64).sum::<f64>() / count
    };
    Some((first..=end).map(of_age).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_shares_are_those_of_counting() {
        // Queries 1 and 2: 1/2 and 1/3 to each position.
        let near = f64::midpoint(1.0 / 2.0, 1.0 / 3.0);
        assert_eq!(even_share("0", "block0 age 1-2"), Some(near));
        assert_eq!(even_share("1-2", "age 2"), Some(near + 1.0 / 3.0));
        assert_eq!(even_share("all", "age 2"), None);
    }
}
