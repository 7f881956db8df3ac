//! Study files as they are written: TOML, every unknown key an error that names the nearest one.
//!
//! Nothing is resolved here. The module `resolve` fills defaults, loads reused studies and checks
//! that what was written can run; the schema for editors is derived from these very types.

use backcut_lab::measure::Measurement;
use backcut_text::nearest;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::StudyError;
pub use crate::optimizer_table::OptimizerTable;
use crate::program::Replay;

/// A study file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    /// Short name: letters, digits, `-` and `_`. Tables are kept under it.
    #[serde(default)]
    pub name: String,
    /// One line for people.
    #[serde(default)]
    pub title: String,
    /// Files, relative to this one, that say what this one does not: for each key the first that
    /// has it.
    #[serde(default)]
    pub like: Vec<String>,
    /// Longer remarks.
    #[serde(default)]
    pub note: String,
    /// The system; may be left out where every arm is reused.
    #[serde(default)]
    pub system: Option<SystemTable>,
    /// Departures from the system's own optimizer.
    #[serde(default)]
    pub optimizer: OptimizerTable,
    /// Where the sources' seeds come from; left out, the grids of the reused studies are taken.
    #[serde(default)]
    pub sources: Option<Sources>,
    /// Conditions by label: settings of the system that the condition changes.
    #[serde(default)]
    pub conditions: IndexMap<String, Map<String, Value>>,
    /// Updates between evaluations of the panel [default: 200]; the last update is always
    /// evaluated.
    #[serde(default)]
    pub evaluate_every: Option<u64>,
    /// Arms by name.
    #[serde(default)]
    pub arms: IndexMap<String, ArmTable>,
    /// Arms of other studies that this one compares with or starts from.
    #[serde(default)]
    pub reuse: Vec<Reuse>,
    /// What is measured at kept states.
    #[serde(default)]
    pub measurements: Vec<MeasurementTable>,
    /// Families of contrasts, with the status they ask for.
    #[serde(default)]
    pub families: Vec<FamilyTable>,
    /// Two-sample comparisons of endpoints of different sources.
    #[serde(default)]
    pub comparisons: Vec<ComparisonTable>,
    /// Choices that could have been made otherwise: by factor and level, what the level changes.
    #[serde(default)]
    pub factors: Factors,
    /// Universes by name, each with a level of every factor: all arms, measurements and families
    /// are repeated in each.
    #[serde(default)]
    pub universes: IndexMap<String, Universe>,
}

/// Whether a spreadsheet would take a cell that begins so for a formula, and run it.
pub(crate) fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err()
}

/// A level of a factor: what it changes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Settings of the system.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Departures from the optimizer.
    #[serde(default)]
    pub optimizer: OptimizerTable,
}

/// One level of every factor, and what only this universe changes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Universe {
    /// A level of each factor, in the order in which the file lists the factors.
    pub levels: Vec<String>,
    /// Settings of the system.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Departures from the optimizer.
    #[serde(default)]
    pub optimizer: OptimizerTable,
}

/// Factors, and the levels of each.
pub type Factors = IndexMap<String, IndexMap<String, Level>>;

/// The system of a study.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SystemTable {
    /// Its name; left out where a command computes.
    #[serde(default)]
    pub name: Option<String>,
    /// A program of your own that computes units, and its words: see docs/your-program.md.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Files that decide what the command computes, relative to this one; those among its words are
    /// known.
    #[serde(default)]
    pub files: Vec<String>,
    /// Seconds after which the command is ended and its unit has failed [default: no limit].
    #[serde(default)]
    pub timeout: Option<f64>,
    /// How the command's results come out again [default: bitwise].
    #[serde(default)]
    pub replay: Option<Replay>,
    /// What the command's value is, in words [default: value].
    #[serde(default)]
    pub error: Option<String>,
    /// The unit of that value.
    #[serde(default)]
    pub unit: Option<String>,
    /// Settings that differ from its defaults, in all conditions.
    #[serde(default)]
    pub settings: Map<String, Value>,
}

/// The seeds of a study.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// The first of consecutive seeds.
    pub first: Option<u64>,
    /// How many.
    pub count: Option<u64>,
    /// Or the seeds themselves.
    pub seeds: Option<Vec<u64>>,
    /// Or how many the freezing entry draws by its hash, so that nobody could compute on them
    /// before.
    pub draw: Option<u64>,
}

/// One arm.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmTable {
    /// The backward graph, as `FF`, `F_SG` or `SEG-8`; needed unless a command computes.
    #[serde(default)]
    pub cut: Option<String>,
    /// Settings of the system that this arm changes, under every condition.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Forward window of the memory, in training and evaluation: short for `settings.window`.
    pub window: Option<u64>,
    /// The arm it branches from; left out, it starts from initialization.
    pub from: Option<String>,
    /// The update of that arm at which it branches [default: its last].
    pub at: Option<u64>,
    /// Updates at its end, those before the branch included [default: as many more as is
    /// customary].
    pub updates: Option<u64>,
    /// Departures from the optimizer, for this arm alone.
    #[serde(default)]
    pub optimizer: OptimizerTable,
    /// Trained once for all sources and conditions, which then start from the same state.
    pub shared: Option<SharedTable>,
    /// Sampling stream, `a` or `b` [default: a].
    pub stream: Option<String>,
    /// Updates at which the panel is evaluated.
    pub evaluate: Option<Vec<u64>>,
    /// Updates whose checkpoint is kept.
    #[serde(default)]
    pub keep: Vec<u64>,
    /// The conditions it runs under [default: all].
    pub conditions: Option<Vec<String>>,
}

/// An arm that all sources and conditions have in common.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedTable {
    /// The seed it is trained with, in place of each source's own.
    pub seed: u64,
    /// The condition it is trained under; may be left out where there is only one.
    pub condition: Option<String>,
}

/// Arms of another study.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reuse {
    /// Its file, relative to this one.
    pub study: String,
    /// The arms.
    pub arms: Vec<String>,
}

/// A measurement at kept states of some arms.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)] // reading refuses them too: `Measurement` takes what is left over
pub struct MeasurementTable {
    /// The arms whose states are measured.
    pub of: Vec<String>,
    /// At which updates [default: the arm's last].
    #[serde(default)]
    pub at: Option<Vec<u64>>,
    /// The arm whose observations are used by all (for probes on common inputs).
    #[serde(default)]
    pub reference: Option<String>,
    /// What is measured: `kind` and its settings.
    #[serde(flatten)]
    pub what: Measurement,
}

/// A family of contrasts that share a level.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FamilyTable {
    /// Its name.
    pub name: String,
    /// The status it asks for: `confirmatory`, `prespecified`, `descriptive` or `post hoc`.
    pub asks: String,
    /// Contrasts, as `h1 = [w1@0.20] - [FF@0.20] > 0`.
    pub contrasts: Vec<String>,
    /// How many comparisons share the level [default: as many as are listed].
    pub size: Option<usize>,
    /// The level [default: 0.05].
    pub alpha: Option<f64>,
    /// `two-sided` or `one-sided` endpoints [default: two-sided].
    pub bound: Option<String>,
    /// Noninferiority margin.
    pub margin: Option<f64>,
    /// Also say how many sources a noninferiority study with this power would need.
    pub plan_power: Option<f64>,
    /// Contrasts over a measured quantity instead of the evaluation error: `quantity`,
    /// `quantity/part` or `quantity/part/cut`.
    pub quantity: Option<String>,
    /// The update that is compared [default: the arm's last].
    pub at: Option<u64>,
}

/// Endpoints of one study's sources against those of another's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonTable {
    /// Its name.
    pub name: String,
    /// `permutation` of means or `kolmogorov-smirnov`.
    pub kind: String,
    /// A cell, as `FF@0.20`.
    pub left: String,
    /// A cell.
    pub right: String,
}

impl StudyFile {
    /// Reads TOML. `origin` names the file in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, StudyError> {
        let file: Self = toml::from_str(text).map_err(|error| {
            let message = error.message().to_owned();
            let line = error.span().map(|s| text[..s.start.min(text.len())].matches('\n').count());
            let place = line.map_or(String::new(), |l| format!(", line {}", l + 1));
            StudyError::invalid(format!("{origin}{place}: {message}"), hint(&message))
        })?;
        let system = file.system.iter().map(|system| ("system", &system.settings));
        let arms = file.arms.iter().map(|(name, arm)| (name.as_str(), &arm.settings));
        let conditions = file.conditions.iter().map(|(name, settings)| (name.as_str(), settings));
        let levels = file.factors.values().flatten().map(|(name, l)| (name.as_str(), &l.settings));
        let universes = file.universes.iter().map(|(name, u)| (name.as_str(), &u.settings));
        for (place, settings) in system.chain(conditions).chain(arms).chain(levels).chain(universes)
        {
            if let Some(key) = not_finite(settings) {
                let what = format!("{origin}: {place}: {key} is not a finite number");
                return Err(StudyError::invalid(what, "nan and inf are no settings"));
            }
        }
        Ok(file)
    }
}

/// The first setting that is nan or infinite: JSON has no such numbers, and TOML no other nulls.
fn not_finite(settings: &Map<String, Value>) -> Option<String> {
    settings.iter().find_map(|(key, value)| match value {
        Value::Null => Some(key.clone()),
        Value::Object(inner) => not_finite(inner).map(|rest| format!("{key}.{rest}")),
        _ => None,
    })
}

/// The JSON schema of study files, for editors.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(StudyFile))
        .unwrap_or_else(|_| "{}".to_owned());
    text.push('\n');
    text
}

/// For an unknown key, the nearest known one; serde lists them in its message.
fn hint(message: &str) -> String {
    let fallback = "compare with `backcut study template`";
    let mut quoted = message.split('`').skip(1).step_by(2);
    if !message.starts_with("unknown field") && !message.starts_with("unknown variant") {
        return fallback.to_owned();
    }
    let Some(key) = quoted.next() else { return fallback.to_owned() };
    match nearest(key, quoted) {
        Some(known) => format!("did you mean `{known}`?"),
        None => fallback.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use backcut_text::Hinted as _;

    use super::*;

    #[test]
    fn unknown_keys_are_errors_with_line_and_hint() {
        let text = "name = \"x\"\ntitle = \"y\"\n[arms.FF]\ncut = \"FF\"\nupdats = 5\n";
        let error = StudyFile::parse(text, "x.toml").unwrap_err();
        assert!(error.to_string().contains("x.toml, line"), "{error}");
        assert!(error.to_string().contains("`updats`"), "{error}");
        assert_eq!(error.hint(), "did you mean `updates`?");
    }

    #[test]
    fn measurements_know_their_keys_too() {
        let text =
            "name = \"x\"\ntitle = \"y\"\n[[measurements]]\nkind = \"masking\"\nof = [\"FF\"]\n";
        let error = StudyFile::parse(text, "x.toml").unwrap_err();
        assert!(error.to_string().contains("windows"), "{error}");
        let text = text.to_owned() + "windows = [1]\nwindow = 2\n";
        let error = StudyFile::parse(&text, "x.toml").unwrap_err();
        assert!(error.to_string().contains("unknown field `window`"), "{error}");
        assert_eq!(error.hint(), "did you mean `windows`?");
    }
}
