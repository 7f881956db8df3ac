//! Quantities per source and their means, computed from the tables.
//!
//! Contrasts are evaluated by `backcut-stats`, so a figure's point and a study's decision mean the same
//! thing. The interval here is always the pointwise 95% percentile bootstrap over whole sources (a
//! family of one); families and decisions are read from the study's analysis, never made here.
//!
//! A source that lacks a value is left out and named in the estimate; whoever shows the estimate shows that.

use std::collections::BTreeMap;

use backcut_evidence::tables::UnitState;
use backcut_evidence::tables::rows::MeasurementRow;
use backcut_stats::contrast::{Body, Contrast};
use backcut_stats::family::MIN_SOURCES;
use backcut_stats::quantile::{mean, standard_deviation};
use backcut_stats::{FamilyParams, SourceTable};

use crate::report::results::{Results, SourceValues, canonical_condition};

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

/// Which measured rows are meant; `None` takes any.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pick<'a> {
    /// The quantity's name.
    pub quantity: &'a str,
    /// The arm whose state was measured.
    pub arm: Option<&'a str>,
    /// The cut.
    pub cut: Option<&'a str>,
    /// The part.
    pub part: Option<&'a str>,
    /// The update; of several, the last one of each source.
    pub update: Option<u64>,
}

/// Measured rows of one quantity at one place: update, sum and count by source.
#[derive(Clone, Default, Debug)]
pub(crate) struct BySource(BTreeMap<String, (u64, f64, f64)>);

impl BySource {
    /// Takes a row into account if its unit is done and it has a value.
    pub(crate) fn add(&mut self, row: &MeasurementRow) {
        let Some(value) = row.value.filter(|_| row.state == UnitState::Done) else {
            return;
        };
        let update = row.update;
        let entry = self.0.entry(row.source.clone()).or_insert((update, 0.0, 0.0));
        if update > entry.0 {
            *entry = (update, 0.0, 0.0);
        }
        if update == entry.0 {
            entry.1 += value;
            entry.2 += 1.0;
        }
    }

    /// The mean of every source at its last update.
    pub(crate) fn means(self) -> BTreeMap<String, f64> {
        self.0.into_iter().map(|(source, (_, sum, count))| (source, sum / count)).collect()
    }
}

impl Results {
    /// The mean over sources of an expression over cells (`([w1@0.20] - [FF@0.20]) / [FF@0.20]`).
    /// The error is a sentence for the reader: what is missing.
    pub fn estimate(&self, study: &str, expression: &str) -> Result<Estimate, String> {
        let expression = canonical_cells(expression);
        let contrast = Contrast::parse(&expression).map_err(|e| format!("failed to {e}"))?;
        let mut columns = BTreeMap::new();
        for name in contrast.cells() {
            self.add_cell(study, name, &mut columns)?;
        }
        let (table, missing) = paired(&columns)?;
        let evaluated = contrast.evaluate(&table).map_err(|e| format!("failed to {e}"))?;
        let Some(below) = &evaluated.denominators else {
            let values = table.sources().iter().cloned().zip(evaluated.values).collect();
            return Ok(self.from_values(values, missing));
        };
        // A ratio of means has no value per source; its interval pairs both means in every draw.
        let ratio = mean(&evaluated.values) / mean(below);
        if !ratio.is_finite() {
            return Err("the mean that it is divided by is zero".into());
        }
        let sources = table.sources();
        let interval = if sources.len() < MIN_SOURCES {
            None
        } else {
            let family =
                FamilyParams { exact_up_to: 0, patterns: 1, ..FamilyParams::new(vec![contrast]) };
            let report = family.check().and_then(|family| family.run(&table));
            Some(report.map_err(|e| format!("failed to {e}"))?.rows[0].pointwise)
        };
        let each =
            sources.iter().cloned().zip(evaluated.values.iter().zip(below).map(|(a, b)| a / b));
        let values = each.filter(|(_, v)| v.is_finite()).collect();
        Ok(Estimate { values, mean: ratio, interval, missing })
    }

    /// The mean over sources of values that are at hand.
    pub fn from_values(&self, values: Vec<(String, f64)>, missing: Vec<String>) -> Estimate {
        let plain: Vec<f64> = values.iter().map(|(_, v)| *v).collect();
        let interval = self.intervals().lock().ok().and_then(|mut known| known.of_mean(&plain));
        Estimate { mean: mean(&plain), interval, missing, values }
    }

    /// What was measured, by source: rows of units that are done, at the last update measured; several
    /// rows of one source (batches, windows) are averaged.
    pub fn measured(&self, study: &str, pick: Pick<'_>, condition: &str) -> BTreeMap<String, f64> {
        let condition = canonical_condition(condition);
        let fits = |wanted: Option<&str>, found: Option<&str>| {
            wanted.is_none_or(|w| w == found.unwrap_or_default())
        };
        let mut found = BySource::default();
        for row in self.study(study).iter().flat_map(|s| s.measured(pick.quantity)) {
            if fits(pick.arm, Some(&row.arm))
                && fits(pick.cut, row.cut.as_deref())
                && fits(pick.part, row.part.as_deref())
                && pick.update.is_none_or(|update| update == row.update)
                && canonical_condition(&row.condition) == condition
            {
                found.add(row);
            }
        }
        found.means()
    }

    /// The values of `arm@condition`, with a star for every condition of the arm that is a number.
    fn add_cell(
        &self,
        study: &str,
        name: &str,
        columns: &mut BTreeMap<String, SourceValues>,
    ) -> Result<(), String> {
        let (arm, condition) = name.split_once('@').unwrap_or((name, ""));
        if self.study(study).is_none() {
            return Err(format!("study {study} was not collected"));
        }
        if condition == "*" {
            let levels = self.study(study).map(|s| s.conditions()).unwrap_or_default();
            for level in levels.into_iter().filter(|c| c.parse::<f64>().is_ok()) {
                if let Some(cell) = self.cell(study, arm, level) {
                    columns.insert(format!("{arm}@{level}"), cell.clone());
                }
            }
            return Ok(());
        }
        let cell = self.cell(study, arm, condition);
        let cell = cell.ok_or_else(|| format!("no unit of {arm} at {condition} is done"))?;
        columns.insert(name.to_owned(), cell.clone());
        Ok(())
    }
}

/// A table of the sources that every column has, and the sources that some column lacks.
fn paired(columns: &BTreeMap<String, SourceValues>) -> Result<(SourceTable, Vec<String>), String> {
    let mut sources: Vec<&String> = columns.values().flat_map(BTreeMap::keys).collect();
    sources.sort();
    sources.dedup();
    let value = |column: &SourceValues, source: &str| column.get(source).copied().flatten();
    let complete = |source: &str| columns.values().all(|column| value(column, source).is_some());
    let (kept, missing): (Vec<&String>, Vec<&String>) =
        sources.into_iter().partition(|source| complete(source));
    if kept.is_empty() {
        return Err("no source has all of its arms".into());
    }
    let cells = columns.iter().flat_map(|(name, column)| {
        kept.iter().filter_map(move |source| Some((source, name, value(column, source)?)))
    });
    let table = SourceTable::from_values(cells);
    Ok((table.map_err(|e| format!("failed to {e}"))?, missing.into_iter().cloned().collect()))
}

/// An expression with every condition in its one spelling.
pub fn canonical_cells(expression: &str) -> String {
    let mut out = String::new();
    let mut rest = expression;
    while let Some((before, after)) = rest.split_once('[') {
        let (cell, after) = after.split_once(']').unwrap_or((after, ""));
        let cell = match cell.split_once('@') {
            Some((arm, condition)) => format!("{arm}@{}", canonical_condition(condition)),
            None => cell.to_owned(),
        };
        out.push_str(before);
        out.push('[');
        out.push_str(&cell);
        out.push(']');
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether two expressions are the same contrast, whatever their spaces and spellings.
pub fn same_contrast(left: &str, right: &str) -> bool {
    let body =
        |text: &str| -> Option<Body> { Some(Contrast::parse(&canonical_cells(text)).ok()?.body) };
    matches!((body(left), body(right)), (Some(a), Some(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrasts_match_by_meaning() {
        assert!(same_contrast("[w1@0.2]-[FF@0.20]", "h1 = [w1@0.20] - [FF@0.2] > 0"));
        assert!(!same_contrast("[w1@0.2]", "[w1@0.05]"));
        assert!(!same_contrast("(", "("));
    }
}
