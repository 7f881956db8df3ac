//! One published number: where it stands, and how ours is computed.

use serde::Deserialize;

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
    /// The conditions at which they are counted; all if none is named.
    #[serde(default)]
    pub clipped_at: Vec<String>,
    /// Ours: a number of one of the tables that only some studies have.
    pub extra: Option<ExtraPick>,
    /// Ours: a count about the shape of a curve.
    pub shape: Option<Shape>,
    /// Why nothing here measures it.
    pub absent: Option<String>,
    /// The table's row that a claim is about (`table/id/condition`): what the claim does not say is as there.
    pub cell: Option<String>,
    /// What an expression is correlated with.
    pub with: Option<String>,
    /// What the claim is about.
    #[serde(default)]
    pub system: Subject,
    /// The contrast of the multiverse that asks the same in every universe.
    pub universes: Option<String>,
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
    #[serde(default)]
    pub unit: String,
    /// The paper's value.
    pub paper: Option<f64>,
    /// The ends of the paper's interval.
    pub interval: Option<[f64; 2]>,
    /// The kind of the paper's interval.
    #[serde(default)]
    pub kind: String,
    /// How many comparisons the paper's interval is adjusted for.
    pub family: Option<u32>,
    /// How many sources the paper's value rests on.
    pub n: Option<u32>,
    /// The paper's values per source, where it publishes them.
    pub per_source: Option<PerSource>,
    /// What the paper says instead of a number: it lies between these.
    pub range: Option<[f64; 2]>,
    /// Whether the paper says that its interval includes zero, and concludes from it.
    pub includes_zero: Option<bool>,
    /// Where it stands in the paper.
    #[serde(default)]
    pub place: String,
    /// The status the paper gives it.
    #[serde(default)]
    pub status: String,
    /// What the paper decided, where its protocol decides: a verdict in this project's words.
    #[serde(default)]
    pub decision: String,
}

/// A published value, with the interval that the paper prints beside it, if it prints one.
pub type Published = (f64, Option<[f64; 2]>);

impl Entry {
    /// The paper's value with its interval.
    pub fn published(&self) -> Option<Published> {
        Some((self.paper?, self.interval))
    }
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
    /// Nothing: both stand side by side. An error in km² has no sign that could differ, and a size that belongs to
    /// the ships.
    Beside,
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
    /// Their correlation with those of another expression.
    Pearson,
    /// The one-sided 95% upper bound of their mean.
    Upper,
    /// The one-sided 95% lower bound of their mean.
    Lower,
    /// Their median over their median at the measure's `since`, less one.
    MedianChange,
    /// The exact test's p of the contrast that the entry names, adjusted for its family.
    AdjustedP,
    /// The least p that its exact test could have had, adjusted likewise.
    Floor,
}

/// A measured quantity: its mean over some conditions, minus its mean over others.
///
/// Every source has one value; an entry that names several arms, cuts or updates has one for each of them, a state's.
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
    /// Kinds of parts (`w_k` for `block0.w_k`) that a star does not stand for.
    #[serde(default)]
    pub except: Vec<String>,
    /// The update after which the state was measured; the last one if none is named.
    pub update: Option<u64>,
    /// Several updates, each with values of its own.
    #[serde(default)]
    pub updates: Vec<u64>,
    /// What every value is divided by.
    pub over: Option<Other>,
    /// What is taken off every value.
    pub less: Option<Other>,
    /// Every value becomes its distance from this.
    pub apart_from: Option<f64>,
    /// Every value becomes one if it lies below this, and zero if not.
    pub below: Option<f64>,
    /// The same for values above this.
    pub above: Option<f64>,
    /// What the values are correlated with.
    pub against: Option<Other>,
    /// Conditions to average.
    pub at: Vec<String>,
    /// Conditions whose average is taken off.
    #[serde(default)]
    pub minus: Vec<String>,
    /// The condition from which a change is measured.
    pub since: Option<String>,
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
    /// Their mean.
    Mean,
    /// The least of them.
    Least,
    /// The greatest of them.
    Greatest,
}

/// Another value of the same state: what it does not name is as in the measure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// The quantity.
    pub quantity: Option<String>,
    /// The arm.
    pub arm: Option<String>,
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
    /// Less the same arm's error at another update.
    pub minus_update: Option<u64>,
    /// Divided by the same arm's error at another update.
    pub over_update: Option<u64>,
    /// Divided by the error of another arm.
    pub over_arm: Option<String>,
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

/// A number of a table that only some studies have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraPick {
    /// The file.
    pub file: String,
    /// A column and what stands in it: the row that is meant.
    pub row: [String; 2],
    /// The column.
    pub value: String,
    /// The column that it is divided by.
    pub over: Option<String>,
}

/// A count about a curve over conditions: where it is above both of its ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// What is counted.
    pub count: ShapeCount,
    /// The curve, with a star for the condition.
    pub curve: String,
    /// Its conditions, in order.
    pub conditions: Vec<String>,
}

/// What of a curve is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeCount {
    /// Interior points that the study's analysis decides to be above both ends.
    PointsAboveBothEnds,
    /// Sources that can be left out and leave the highest interior point above both ends.
    SourcesToSpare,
}

/// Where the paper's values per source are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerSource {
    /// The table.
    pub table: String,
    /// The values, over its columns.
    pub expression: String,
    /// What they are multiplied by to be in the paper's unit.
    #[serde(default = "one")]
    pub scale: f64,
}
