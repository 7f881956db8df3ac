//! Quantities per source and their means, computed from the tables.
//!
//! This is where cells are found; the answers are [`backcut_stats::answers`]', so a figure's point
//! and a study's decision mean the same thing. Families and decisions are read from the study's
//! analysis, never made here.
//!
//! A source that lacks a value is left out and named in the estimate; whoever shows the estimate
//! shows that.

use std::collections::BTreeMap;

use backcut_evidence::tables::UnitState;
use backcut_evidence::tables::rows::Observation;
pub use backcut_stats::Estimate;
use backcut_stats::contrast::{Body, Contrast};
use backcut_stats::{SourceTable, StatsError};

use crate::report::results::{Results, SourceValues, canonical_condition};

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
    pub(crate) fn add(&mut self, row: &Observation) {
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
        let cells = columns.iter().flat_map(|(name, cell)| {
            cell.iter().map(move |(source, value)| (source, name, *value))
        });
        let told = |error: StatsError| match error {
            StatsError::TooFewSources { found: 0, .. } => {
                "no source has all of its arms".to_owned()
            }
            error => format!("failed to {error}"),
        };
        let table = SourceTable::from_values(cells).map_err(told)?;
        self.answers().ask(&contrast, &table).map_err(told)
    }

    /// The mean over sources of values that are at hand.
    pub fn from_values(&self, values: Vec<(String, f64)>, missing: Vec<String>) -> Estimate {
        self.answers().mean(values, missing)
    }

    /// What was measured, by source: rows of units that are done, at the last update measured;
    /// several rows of one source (batches, windows) are averaged.
    pub fn measured(&self, study: &str, pick: Pick<'_>, condition: &str) -> BTreeMap<String, f64> {
        let condition = canonical_condition(condition);
        let fits = |wanted: Option<&str>, found: Option<&str>| {
            wanted.is_none_or(|w| w == found.unwrap_or_default())
        };
        let mut found = BySource::default();
        for row in self.study(study).iter().flat_map(|s| s.measured(pick.quantity)) {
            if fits(pick.arm, Some(&row.arm))
                && fits(pick.cut, row.of.as_deref())
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
