//! Candidates for what the paper does not publish, by how well they meet what it does.
//!
//! The targets (`calibration.toml`) are cells in which nothing is cut. A candidate's mismatch in a
//! cell is `log(ours / the paper's)`; excesses, shares and spreads, which pass zero, enter as one
//! plus themselves. The **score** is the root mean square of all mismatches, every cell alike. A
//! candidate that lacks a cell has no score.
//!
//! A study with an arm under a cut is refused: whoever chooses by these tables has not seen what a
//! cut costs.

use std::collections::BTreeMap;

use backcut_evidence::tables::UnitState;
use backcut_evidence::tables::rows::Observation;
use backcut_page::report::results::Study;
use backcut_page::report::{ReportError, Results};
use backcut_stats::quantile::mean;
use serde::Deserialize;

/// The study whose tables are read.
pub const STUDY: &str = "calibration";

/// Arms that a calibration may have: no cut is among them.
const ARMS: [&str; 3] = ["FF", "w1", "w2"];

/// What a target is a number of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Error,
    Excess,
    Masking,
    Spread,
    Clipped,
    Token,
    Weights,
}

impl What {
    /// Numbers that pass zero are compared as one plus themselves.
    fn counts_from_one(self) -> bool {
        matches!(self, Self::Excess | Self::Masking | Self::Spread | Self::Clipped)
    }
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Targets {
    group: String,
    what: What,
    #[serde(default)]
    arm: Option<String>,
    #[serde(default)]
    part: Option<String>,
    conditions: Vec<String>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    targets: Vec<Targets>,
}

/// A candidate in one cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// The targets that it belongs to, as `w = 1`.
    pub group: String,
    /// The condition.
    pub condition: String,
    /// What the paper publishes.
    pub paper: f64,
    /// What the candidate has, if all of its units are done.
    pub ours: Option<f64>,
    /// `log(ours / paper)`, or of one plus each.
    pub mismatch: Option<f64>,
}

/// A candidate configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The universe's name.
    pub name: String,
    /// Its cells, in the order of the targets.
    pub cells: Vec<Cell>,
}

impl Candidate {
    /// The root mean square mismatch over all cells, or over those of some groups.
    pub fn score(&self, of: impl Fn(&str) -> bool) -> Option<f64> {
        let cells = self.cells.iter().filter(|cell| of(&cell.group));
        let all: Option<Vec<f64>> = cells.map(|cell| cell.mismatch).collect();
        let all = all.filter(|all| !all.is_empty())?;
        Some((all.iter().map(|m| m * m).sum::<f64>() / all.len() as f64).sqrt())
    }
}

fn targets() -> Result<Vec<Targets>, ReportError> {
    let text = include_str!("../calibration.toml");
    let broken = |why: String| ReportError::missing(STUDY, format!("its targets: {why}"));
    let file: File = toml::from_str(text).map_err(|error| broken(error.to_string()))?;
    match file.targets.iter().find(|t| t.conditions.len() != t.values.len()) {
        Some(odd) => Err(broken(format!("{} has not one value per condition", odd.group))),
        None => Ok(file.targets),
    }
}

/// All candidates of a folder of results, in the order of its tables.
pub fn candidates(results: &Results) -> Result<Vec<Candidate>, ReportError> {
    let study = results
        .study(STUDY)
        .ok_or_else(|| ReportError::missing(STUDY, format!("study {STUDY} was not collected")))?;
    let mut names: Vec<&str> = Vec::new();
    for row in study.endpoints() {
        let (name, arm) = row.arm.split_once('.').unwrap_or(("", &row.arm));
        if !ARMS.contains(&arm) {
            let why = format!("arm `{}`: a calibration sees {} alone", row.arm, ARMS.join(", "));
            return Err(ReportError::missing(STUDY, why));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let targets = targets()?;
    Ok(names.into_iter().map(|name| candidate(study, name, &targets)).collect())
}

fn candidate(study: &Study, name: &str, targets: &[Targets]) -> Candidate {
    let arm = |of: &str| if name.is_empty() { of.to_owned() } else { format!("{name}.{of}") };
    let mut cells = Vec::new();
    for target in targets {
        for (condition, &paper) in target.conditions.iter().zip(&target.values) {
            let errors = |of: &str| errors(study, &arm(of), condition);
            let measured = |quantity: &str| {
                measured(study, quantity, target.part.as_deref(), &arm("FF"), condition)
            };
            let ours = match target.what {
                What::Error => errors("FF").map(|all| mean(&all)),
                What::Excess => errors(target.arm.as_deref().unwrap_or("w1"))
                    .zip(errors("FF"))
                    .map(|(of, full)| mean(&of) / mean(&full) - 1.0),
                What::Masking => measured("masking.relative"),
                What::Spread => errors("FF").and_then(|all| spread(&all)),
                What::Clipped => clipped(study, &arm("FF"), condition),
                What::Token => measured("probe.r2_common"),
                What::Weights => measured("input_weight.norm"),
            };
            let one = f64::from(u8::from(target.what.counts_from_one()));
            let ratio = ours.map(|ours| (one + ours) / (one + paper));
            let mismatch = ratio.filter(|r| *r > 0.0).map(f64::ln);
            let (group, condition) = (target.group.clone(), condition.clone());
            cells.push(Cell { group, condition, paper, ours, mismatch });
        }
    }
    Candidate { name: name.to_owned(), cells }
}

/// The standard deviation over sources, relative to their mean.
fn spread(values: &[f64]) -> Option<f64> {
    let deviation = backcut_stats::quantile::standard_deviation;
    (values.len() > 1).then(|| deviation(values) / mean(values))
}

/// Errors of every source; none if one is missing.
fn errors(study: &Study, arm: &str, condition: &str) -> Option<Vec<f64>> {
    let rows = study.endpoints().filter(|row| row.arm == arm && row.condition == condition);
    let all: Option<Vec<f64>> = rows.map(|row| row.value).collect();
    all.filter(|all| !all.is_empty())
}

/// The mean of a quantity over sources; none if a source lacks it.
fn measured(
    study: &Study,
    quantity: &str,
    part: Option<&str>,
    arm: &str,
    condition: &str,
) -> Option<f64> {
    let is = |row: &&Observation| {
        row.arm == arm
            && row.condition == condition
            && part.is_none_or(|part| row.part.as_deref() == Some(part))
    };
    let mut by_source: BTreeMap<&str, f64> = BTreeMap::new();
    for row in study.measured(quantity).filter(is) {
        by_source.insert(&row.source, row.value?);
    }
    let sources = errors(study, arm, condition)?.len();
    let values: Vec<f64> = by_source.into_values().collect();
    (values.len() == sources).then(|| mean(&values))
}

/// The share of updates that were clipped.
fn clipped(study: &Study, arm: &str, condition: &str) -> Option<f64> {
    let (mut clipped, mut updates) = (0, 0);
    let trained = |row: &&backcut_evidence::tables::rows::UnitRow| {
        row.arm == arm
            && row.condition == condition
            && row.what == backcut_evidence::tables::Work::Train
    };
    for row in study.units.iter().filter(trained) {
        clipped += row.clipped.filter(|_| row.state == UnitState::Done)?;
        updates += row.updates;
    }
    (updates > 0).then(|| clipped as f64 / updates as f64)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;

    use super::*;

    fn open(arms: &[&str], value: f64) -> Result<Vec<Candidate>, ReportError> {
        let folder = tempfile::tempdir().unwrap();
        let study = folder.path().join(STUDY);
        fs::create_dir(&study).unwrap();
        let unit = "0".repeat(64);
        let mut text = "source,arm,condition,update,value,state,unit,note\n".to_owned();
        for arm in arms {
            for condition in ["0.00", "0.05", "0.20", "0.30", "hidden"] {
                for source in [1, 2] {
                    let _ = writeln!(text, "{source},{arm},{condition},1000,{value},done,{unit},");
                }
            }
        }
        fs::write(study.join("endpoints.csv"), text).unwrap();
        candidates(&Results::open(folder.path()).unwrap())
    }

    #[test]
    fn a_mismatch_is_a_logarithm_and_a_missing_cell_leaves_no_score() {
        let found = open(&["a.FF", "a.w1"], 0.00515).unwrap();
        assert_eq!(found.len(), 1);
        let cell = |group: &str, condition: &str| {
            let is = |c: &&Cell| c.group == group && c.condition == condition;
            found[0].cells.iter().find(is).unwrap()
        };
        assert_eq!(cell("FF", "0.05").mismatch, Some(0.0));
        let low = (0.00515f64 / 0.00471).ln();
        assert!((cell("FF", "0.00").mismatch.unwrap() - low).abs() < 1e-12);
        // No excess, where the paper has 43%.
        let excess = (1.0f64 / 1.429).ln();
        assert!((cell("w = 1", "0.20").mismatch.unwrap() - excess).abs() < 1e-12);
        assert_eq!((cell("FF", "0.10").ours, cell("w = 2", "0.20").ours), (None, None));
        assert_eq!(found[0].score(|_| true), None);
        let of_one = found[0].score(|group| group == "w = 1").unwrap();
        let all = [0.9962f64, 1.0125, 1.429, 1.809, 1.965].map(|x| x.ln().powi(2));
        assert!((of_one - (all.iter().sum::<f64>() / 5.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_a_cut_costs_is_not_read() {
        let error = open(&["a.FF", "a.F_SG"], 0.005).unwrap_err();
        assert!(error.to_string().contains("a.F_SG"), "{error}");
    }
}
