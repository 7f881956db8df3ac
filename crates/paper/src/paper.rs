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
    /// Ours: an error along training.
    pub curve: Option<Curve>,
    /// Ours: the share of these arms' updates that were clipped.
    #[serde(default)]
    pub clipped: Vec<String>,
    /// Why nothing here measures it.
    pub absent: Option<String>,
    /// What the claim is about.
    #[serde(default)]
    pub system: Subject,
    /// Names (`family/contrast`) under which a study's analysis holds it.
    #[serde(default)]
    pub names: Vec<String>,
    /// What is made of the values per source.
    #[serde(default)]
    pub statistic: Statistic,
    /// What ours is multiplied by to have the paper's unit.
    #[serde(default = "one")]
    pub scale: f64,
    /// What a judged contrast is raised by to be the paper's quantity, in the paper's unit: a study that tests a
    /// ratio against 0.1 judges the ratio less 0.1.
    #[serde(default)]
    pub shift: f64,
    /// What of the two numbers can be compared.
    #[serde(default)]
    pub compare: Compare,
    /// Where the direction turns, if not at zero: a ratio says something by being above or below one.
    pub neutral: Option<f64>,
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

/// Which half of the paper a claim belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The quadrotor, or the analytic system beside it.
    #[default]
    Quadrotor,
    /// The vessel: here other ships than the paper's.
    Vessel,
}

/// What of the paper's number and ours can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// Sign, size and intervals.
    #[default]
    Size,
    /// Sign and decision: errors of other ships have sizes of their own.
    Sign,
    /// How many times the paper's ours is. A quantity that cannot be negative has a direction only if something
    /// other than zero is neutral.
    Factor,
    /// How far apart they are; for cosines and counts.
    Difference,
}

/// What is made of the values per source or state.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Their mean, with an interval.
    #[default]
    Mean,
    /// Their median.
    Median,
    /// The least of them.
    Least,
    /// The greatest of them.
    Greatest,
    /// Their standard deviation.
    Deviation,
    /// How many are below zero.
    BelowZero,
    /// Their rank correlation with the measure's `against`.
    Spearman,
}

/// A measured quantity: its mean over some conditions, minus its mean over others.
///
/// Every source has one value; an entry that names several arms or cuts has one for each of them, a state's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Names of the quantity, the first that exists counts.
    pub quantity: Vec<String>,
    /// The arm whose state was measured.
    pub arm: Option<String>,
    /// Several arms, each with values of its own.
    #[serde(default)]
    pub arms: Vec<String>,
    /// The cut.
    pub cut: Option<String>,
    /// Several cuts, each with values of its own.
    #[serde(default)]
    pub cuts: Vec<String>,
    /// The part; a star at its start or end stands for anything.
    pub part: Option<String>,
    /// What is made of the parts that a star stands for.
    #[serde(default)]
    pub within: Within,
    /// The update after which the state was measured; the last one if none is named.
    pub update: Option<u64>,
    /// What every value is divided by.
    pub over: Option<Other>,
    /// What the values are correlated with.
    pub against: Option<Other>,
    /// Conditions to average.
    pub at: Vec<String>,
    /// Conditions whose average is taken off.
    #[serde(default)]
    pub minus: Vec<String>,
}

/// What is made of several parts of one state.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Within {
    /// Their median.
    #[default]
    Median,
    /// Their 95th percentile.
    P95,
    /// Their sum.
    Sum,
}

/// Another value of the same state: what it does not name is as in the measure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// The quantity.
    pub quantity: Option<String>,
    /// The cut.
    pub cut: Option<String>,
    /// The part.
    pub part: Option<String>,
}

/// The error of an arm at one update.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The arm.
    pub arm: String,
    /// The condition.
    pub condition: String,
    /// The update.
    pub update: u64,
    /// Less the error of another arm.
    pub minus_arm: Option<String>,
    /// Divided by the same arm's error at another update.
    pub over_update: Option<u64>,
    /// Divided by the error of the plain prediction that another study measured on the same panel.
    pub over_reference: Option<Plain>,
}

/// Where the error of a plain prediction was measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plain {
    /// The study.
    pub study: String,
    /// The arm whose panel it was.
    pub arm: String,
}

impl Paper {
    /// Reads the embedded file.
    pub fn load() -> Result<Self, PaperError> {
        toml::from_str(TEXT).map_err(|error| PaperError(error.to_string()))
    }

    /// The claim of this name.
    pub fn claim(&self, id: &str) -> Option<&Entry> {
        self.claims.iter().find(|claim| claim.id == id)
    }

    /// The published value of a table's row.
    pub fn cell(&self, table: &str, id: &str, condition: &str) -> Option<f64> {
        let rows = &self.tables.iter().find(|t| t.name == table)?.rows;
        rows.iter().find(|row| row.id == id && row.condition == condition)?.paper
    }

    /// The published value of an expression in a table.
    pub fn value_of(&self, table: &str, expression: &str) -> Option<f64> {
        self.published(table, expression).map(|(value, _)| value)
    }

    /// The same with its interval, if it has one.
    pub fn published(&self, table: &str, expression: &str) -> Option<(f64, Option<[f64; 2]>)> {
        let rows = &self.tables.iter().find(|t| t.name == table)?.rows;
        let same = |e: &&Entry| {
            e.expression.as_deref().is_some_and(|text| same_contrast(text, expression))
        };
        let entry = rows.iter().find(same)?;
        Some((entry.paper?, entry.interval))
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
                entry.absent.is_some(),
            ];
            let ways = ways.iter().filter(|way| **way).count();
            assert!(ways == 1 || (ways == 0 && !entry.names.is_empty()), "{}", entry.id);
            let correlated = entry.measure.as_ref().is_some_and(|m| m.against.is_some());
            assert_eq!(entry.statistic == Statistic::Spearman, correlated, "{}", entry.id);
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
