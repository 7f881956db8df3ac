//! The paper's values, and what of ours stands beside each.
//!
//! `paper.toml` is data: the value as published, and how to compute ours (an expression over a study's
//! cells, or a measured quantity). Claims are in this project's words. Code that compares never holds a
//! number of the paper.

use serde::Deserialize;

use crate::error::ReportError;

/// The embedded file.
const TEXT: &str = include_str!("../paper.toml");

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
    /// Names under which a study's analysis may hold it.
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
    pub fn load() -> Result<Self, ReportError> {
        toml::from_str(TEXT).map_err(|error| ReportError::Paper(error.to_string()))
    }
}
