//! The paper's values, and what of ours stands beside each.
//!
//! `paper.toml`, `cells.toml` and `vessel.toml` are data: the value as published, and how to
//! compute ours (an expression over a study's cells, or a measured quantity). A number stands once:
//! a claim that is about a table's row names it (`cell`) and has what the row has; a row has what
//! its table says for all (`defaults`). Claims are in this project's words. Code that compares
//! never holds a number of the paper.

use backcut_page::report::estimate::same_contrast;
use backcut_text::Hinted;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

pub use crate::entry::{
    Compare, Curve, Entry, Measure, Other, Published, Statistic, Subject, Within,
};

/// The embedded files: claims with some tables, and the other tables of the quadrotor and of the
/// vessel.
const TEXTS: [&str; 3] =
    [include_str!("../paper.toml"), include_str!("../cells.toml"), include_str!("../vessel.toml")];

/// The embedded file is broken; a test keeps this from happening.
#[derive(Debug, thiserror::Error)]
#[error("read the paper's values: {0}")]
pub struct PaperError(String);

impl Hinted for PaperError {
    fn hint(&self) -> std::borrow::Cow<'_, str> {
        "this is a defect of the program".into()
    }

    fn is_bug(&self) -> bool {
        true
    }
}

/// Everything the file holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The statements that the reproduction answers.
    #[serde(rename = "claim")]
    pub claims: Vec<Entry>,
    /// Tables with a row for every published number that can have one of ours beside it.
    #[serde(rename = "table")]
    pub tables: Vec<PaperTable>,
    /// What the paper does not say and this project had to choose.
    #[serde(rename = "unspecified")]
    pub unspecified: Vec<Unspecified>,
}

/// Something that had to be chosen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unspecified {
    /// What is not published.
    pub what: String,
    /// What was done about it.
    pub choice: String,
}

/// One table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperTable {
    /// The name to ask for it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What kind of intervals the paper's are.
    pub intervals: String,
    /// Where it stands in the paper, and what a reader should know of it.
    #[serde(default)]
    pub place: String,
    /// The rows.
    #[serde(rename = "row")]
    pub rows: Vec<Entry>,
}

impl Paper {
    /// Reads the embedded files.
    pub fn load() -> Result<Self, PaperError> {
        let mut whole = toml::Table::new();
        for text in TEXTS {
            let file: toml::Table =
                toml::from_str(text).map_err(|error| PaperError(error.to_string()))?;
            for (key, value) in file {
                match (whole.get_mut(&key), value) {
                    (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                    (None, value) => drop(whole.insert(key, value)),
                    _ => return Err(PaperError(format!("`{key}` is no list"))),
                }
            }
        }
        inherit(&mut whole)?;
        whole.try_into().map_err(|error: toml::de::Error| PaperError(error.to_string()))
    }

    /// The claim of this name.
    pub fn claim(&self, id: &str) -> Option<&Entry> {
        self.claims.iter().find(|claim| claim.id == id)
    }

    /// The published value of a table's row, with its interval, if it has one.
    pub fn cell(&self, table: &str, id: &str, condition: &str) -> Option<Published> {
        let rows = &self.tables.iter().find(|t| t.name == table)?.rows;
        rows.iter().find(|row| row.id == id && row.condition == condition)?.published()
    }

    /// The published value of an expression in a table.
    pub fn value_of(&self, table: &str, expression: &str) -> Option<f64> {
        self.published(table, expression).map(|(value, _)| value)
    }

    /// The same with its interval, if it has one.
    pub fn published(&self, table: &str, expression: &str) -> Option<Published> {
        let rows = &self.tables.iter().find(|t| t.name == table)?.rows;
        let same = |e: &&Entry| {
            e.expression.as_deref().is_some_and(|text| same_contrast(text, expression))
        };
        rows.iter().find(same)?.published()
    }
}

/// Rows have their table's defaults, and a claim what the row has that it names; what stands there
/// wins.
fn inherit(whole: &mut toml::Table) -> Result<(), PaperError> {
    let mut rows: BTreeMap<String, toml::Table> = BTreeMap::new();
    for table in list(whole, "table") {
        let mut defaults = match table.remove("defaults") {
            Some(Value::Table(defaults)) => defaults,
            _ => toml::Table::new(),
        };
        if let Some(place) = table.get("place") {
            defaults.insert("place".to_owned(), place.clone());
        }
        let name = table.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        for row in list(table, "row") {
            fill(row, &defaults, &[]);
            let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
            rows.insert(format!("{name}/{}/{}", text("id"), text("condition")), row.clone());
        }
    }
    for claim in list(whole, "claim") {
        let Some(cell) = claim.get("cell").and_then(Value::as_str) else { continue };
        let Some(row) = rows.get(cell) else {
            return Err(PaperError(format!("no row is called `{cell}`")));
        };
        let row = row.clone();
        fill(claim, &row, &["id", "text", "condition"]);
    }
    Ok(())
}

/// The tables of a list.
fn list<'t>(of: &'t mut toml::Table, key: &str) -> impl Iterator<Item = &'t mut toml::Table> {
    let list = of.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_table_mut)
}

fn fill(entry: &mut toml::Table, with: &toml::Table, but: &[&str]) {
    for (key, value) in with {
        if !but.contains(&key.as_str()) && !entry.contains_key(key) {
            entry.insert(key.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backcut_stats::Contrast;

    #[test]
    fn the_file_reads_and_every_expression_parses() {
        let paper = Paper::load().unwrap();
        let entries = || paper.claims.iter().chain(paper.tables.iter().flat_map(|t| &t.rows));
        assert!(entries().count() > 100);
        for entry in entries() {
            if let Some(text) = &entry.expression {
                assert!(Contrast::parse(text).is_ok(), "{text}");
            }
            let ways = [
                entry.expression.is_some(),
                entry.measure.is_some(),
                entry.curve.is_some(),
                !entry.clipped.is_empty(),
                entry.extra.is_some(),
                entry.shape.is_some(),
                entry.absent.is_some(),
            ];
            let ways = ways.iter().filter(|way| **way).count();
            assert!(ways == 1 || (ways == 0 && !entry.names.is_empty()), "{}", entry.id);
            let correlated = entry.measure.as_ref().is_some_and(|m| m.against.is_some());
            assert_eq!(entry.statistic == Statistic::Spearman, correlated, "{}", entry.id);
            let paired = entry.with.is_some() && entry.expression.is_some();
            assert_eq!(entry.statistic == Statistic::Pearson, paired, "{}", entry.id);
            if let (Some(value), Some([low, high])) = (entry.paper, entry.interval) {
                assert!(low <= value && value <= high, "{} {}", entry.id, entry.condition);
            }
        }
        for (i, claim) in paper.claims.iter().enumerate() {
            assert!(paper.claims[..i].iter().all(|other| other.id != claim.id), "{}", claim.id);
        }
    }

    #[test]
    fn published_values_are_found_by_meaning() {
        let paper = Paper::load().unwrap();
        let value = paper.value_of("c5", "([w1@0.2]-[FF@0.20]) / [FF@0.20]");
        assert_eq!(value, Some(42.9));
        assert_eq!(paper.value_of("c5", "[w1@0.2]"), None);
    }
}
