//! The paper's values, and what of ours stands beside each.
//!
//! `paper.toml` is data: the value as published, and how to compute ours (an expression over a study's
//! cells, or a measured quantity). Claims are in this project's words. Code that compares never holds a
//! number of the paper.

use backcut_report::estimate::same_contrast;
use backcut_text::Hinted;
use serde::Deserialize;

/// The embedded file.
const TEXT: &str = include_str!("../paper.toml");

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
    /// The rows.
    #[serde(rename = "row")]
    pub rows: Vec<Entry>,
}

/// One published number and how ours is computed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Short name: H1, A4, or the quantity's.
    pub id: String,
    /// The statement, or what the row shows.
    pub text: String,
    /// The study that measures it here.
    pub study: String,
    /// The condition, for tables by condition.
    #[serde(default)]
    pub condition: String,
    /// Ours: an expression over cells.
    pub expression: Option<String>,
    /// Ours: a measured quantity.
    pub measure: Option<Measure>,
    /// Names (`family/contrast`) under which a study's analysis holds it.
    #[serde(default)]
    pub names: Vec<String>,
    /// What is made of the values per source.
    #[serde(default)]
    pub statistic: Statistic,
    /// What ours is multiplied by to have the paper's unit.
    #[serde(default = "one")]
    pub scale: f64,
    /// The unit.
    pub unit: String,
    /// The paper's value.
    pub paper: Option<f64>,
    /// The ends of the paper's interval.
    pub interval: Option<[f64; 2]>,
    /// The kind of the paper's interval.
    #[serde(default)]
    pub kind: String,
    /// The status the paper gives it.
    #[serde(default)]
    pub status: String,
    /// What the paper decided, where its protocol decides: a verdict in this project's words.
    #[serde(default)]
    pub decision: String,
}

fn one() -> f64 {
    1.0
}

/// What is made of the values per source.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Their mean, with an interval.
    #[default]
    Mean,
    /// Their standard deviation.
    Deviation,
    /// How many are below zero.
    BelowZero,
}

/// A measured quantity: its mean over some conditions, minus its mean over others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Names of the quantity, the first that exists counts.
    pub quantity: Vec<String>,
    /// The arm whose state was measured.
    pub arm: Option<String>,
    /// The cut.
    pub cut: Option<String>,
    /// The part.
    pub part: Option<String>,
    /// Conditions to average.
    pub at: Vec<String>,
    /// Conditions whose average is taken off.
    #[serde(default)]
    pub minus: Vec<String>,
}

impl Paper {
    /// Reads the embedded file.
    pub fn load() -> Result<Self, PaperError> {
        toml::from_str(TEXT).map_err(|error| PaperError(error.to_string()))
    }

    /// The published value of an expression in a table.
    pub fn value_of(&self, table: &str, expression: &str) -> Option<f64> {
        let rows = &self.tables.iter().find(|t| t.name == table)?.rows;
        let same = |e: &&Entry| {
            e.expression.as_deref().is_some_and(|text| same_contrast(text, expression))
        };
        rows.iter().find(same)?.paper
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
            let ways = [entry.expression.is_some(), entry.measure.is_some()];
            assert!(ways != [true, true], "{}", entry.id);
            assert!(ways != [false, false] || !entry.names.is_empty(), "{}", entry.id);
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
