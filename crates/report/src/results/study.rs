//! The tables of one study.

use std::collections::BTreeMap;
use std::path::Path;

use super::about;
use super::cells::canonical_condition;
use super::read::Rows;
use crate::error::ReportError;

/// An evaluation error at one update, or why there is none.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    /// The training seed or stream.
    pub source: String,
    /// The arm.
    pub arm: String,
    /// The condition, numbers with two decimals.
    pub condition: String,
    /// The update, if one was reached.
    pub update: Option<f64>,
    /// The error in square metres; only of a unit that is done.
    pub value: Option<f64>,
    /// done, failed, pending, running or interrupted.
    pub state: String,
    /// The unit.
    pub unit: String,
    /// What the unit says about itself.
    pub note: String,
}

/// A contrast as the study judged it.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// The family it belongs to.
    pub family: String,
    /// Its name.
    pub contrast: String,
    /// Its expression over cells.
    pub expression: String,
    /// The predicted direction, in the study's words.
    pub direction: String,
    /// How many sources it rests on.
    pub sources: Option<f64>,
    /// The estimate.
    pub mean: Option<f64>,
    /// The lower end.
    pub lower: Option<f64>,
    /// The upper end.
    pub upper: Option<f64>,
    /// The kind of bound: two-sided or one-sided.
    pub bound: String,
    /// The level.
    pub level: Option<f64>,
    /// The family's size.
    pub size: Option<f64>,
    /// The exact test's p-value.
    pub exact_p: Option<f64>,
    /// The smallest p-value that was possible.
    pub floor: Option<f64>,
    /// Sources that agree, as written.
    pub agreeing: String,
    /// The decision in words.
    pub verdict: String,
    /// confirmatory, prespecified, descriptive or post hoc.
    pub status: String,
    /// Why the ledger granted the status.
    pub why: String,
}

impl Judged {
    /// The interval, if both ends are there.
    pub fn interval(&self) -> Option<[f64; 2]> {
        Some([self.lower?, self.upper?])
    }

    /// Sources that agree, of how many.
    pub fn agreement(&self) -> String {
        match self.sources {
            Some(n) if self.agreeing.parse::<u64>().is_ok() => format!("{}/{n}", self.agreeing),
            _ => self.agreeing.clone(),
        }
    }

    /// The kind of interval in words: bound, level, family.
    pub fn kind(&self) -> String {
        let level = self.level.map_or_else(String::new, |l| {
            let percent = if l <= 0.5 { 100.0 * (1.0 - l) } else { 100.0 * l };
            format!(
                " {}%",
                crate::format::number(percent).trim_end_matches('0').trim_end_matches('.')
            )
        });
        let size = self.size.map_or_else(String::new, |m| format!(", family of {m}"));
        format!("{}{level}{size}", self.bound)
    }
}

/// One number that was measured at a state.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurement {
    /// The training seed or stream.
    pub source: String,
    /// The arm whose state was measured.
    pub arm: String,
    /// The condition.
    pub condition: String,
    /// The update of the state.
    pub update: Option<f64>,
    /// What was measured.
    pub quantity: String,
    /// Under which cut.
    pub cut: String,
    /// Which part: a parameter group, a layer, a window.
    pub part: String,
    /// The number; absent where it does not exist.
    pub value: Option<f64>,
    /// Why not, or anything else.
    pub note: String,
    /// The state of the unit.
    pub state: String,
}

/// One unit of work.
#[derive(Clone, PartialEq, Debug)]
pub struct Unit {
    /// Its name.
    pub unit: String,
    /// Its arm.
    pub arm: String,
    /// Its condition.
    pub condition: String,
    /// Its source.
    pub source: String,
    /// The update it starts from, as written.
    pub from: String,
    /// done, failed, pending, running or interrupted.
    pub state: String,
    /// Updates done.
    pub updates: Option<f64>,
    /// Updates whose gradient was clipped (global norm).
    pub clipped: Option<f64>,
    /// The study that it was made for, if this one only reuses it.
    pub origin: String,
    /// What it says about itself.
    pub note: String,
}

/// A table that is shown as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extra {
    /// Its title.
    pub title: &'static str,
    /// The header.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Extra {
    /// The table as CSV again.
    pub fn csv(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| crate::escape::csv(c)).collect();
            cells.join(",") + "\n"
        };
        let rows: Vec<String> = self.rows.iter().map(|row| line(row)).collect();
        line(&self.columns) + &rows.concat()
    }
}

/// Where a unit's result comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Provenance {
    /// The unit.
    pub unit: String,
    /// The hash of its result.
    pub content: String,
    /// The ledger head it ran under.
    pub head: String,
    /// How long it took.
    pub seconds: Option<f64>,
}

/// Every source that was planned, with its value once the unit is done.
pub type SourceValues = BTreeMap<String, Option<f64>>;

/// Arm and condition to sources and values.
pub(super) type Cells = BTreeMap<(String, String), SourceValues>;

/// One study's tables.
#[derive(Clone, Debug)]
pub struct Study {
    /// The folder's name.
    pub name: String,
    /// Errors at the last update.
    pub endpoints: Vec<Evaluation>,
    /// Errors along training.
    pub curves: Vec<Evaluation>,
    /// Contrasts.
    pub analysis: Vec<Judged>,
    /// Measurements.
    pub measurements: Vec<Measurement>,
    /// Units of work.
    pub units: Vec<Unit>,
    /// Where results come from.
    pub provenance: Vec<Provenance>,
    /// Plans and comparisons, shown as they are.
    pub extras: Vec<Extra>,
    /// Facts about the run, flattened.
    pub about: Vec<(String, String)>,
    pub(super) cells: Cells,
}

const TABLES: [&str; 6] =
    ["endpoints.csv", "measurements.csv", "analysis.csv", "units.csv", AGREEMENT, COST];

/// What `backcut measure cost --out` writes; a cost belongs to no condition.
const COST: &str = "cost.csv";

/// What `backcut measure analytic --out` writes: shares of pairs with their intervals over seeds.
const AGREEMENT: &str = "analytic_agreement.csv";

/// Whether a folder holds a study.
pub(super) fn holds_a_study(folder: &Path) -> bool {
    TABLES.iter().any(|table| folder.join(table).is_file())
}

impl Study {
    pub(super) fn open(name: String, folder: &Path) -> Result<Self, ReportError> {
        let endpoints = evaluations(&folder.join("endpoints.csv"))?;
        let mut cells = Cells::new();
        for row in &endpoints {
            let cell = cells.entry((row.arm.clone(), row.condition.clone())).or_default();
            let value = row.value.filter(|_| row.state == "done");
            if cell.insert(row.source.clone(), value).is_some() {
                let problem = format!(
                    "source {}, arm {} and condition {} appear twice",
                    row.source, row.arm, row.condition
                );
                let path = folder.join("endpoints.csv");
                return Err(ReportError::Table { path, row: 0, problem });
            }
        }
        Ok(Self {
            curves: evaluations(&folder.join("curves.csv"))?,
            analysis: {
                let mut rows = analysis(&folder.join("analysis.csv"))?;
                rows.extend(agreements(&folder.join(AGREEMENT))?);
                rows
            },
            measurements: {
                let mut rows = measurements(&folder.join("measurements.csv"))?;
                rows.extend(costs(&folder.join(COST))?);
                rows
            },
            units: units(&folder.join("units.csv"))?,
            provenance: provenance(&folder.join("provenance.csv"))?,
            extras: extras(folder)?,
            about: about::facts(&folder.join("about.json"))?,
            name,
            endpoints,
            cells,
        })
    }

    /// A fact about the run.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.about.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Units by state, sorted by state, without those of other studies; endpoints stand in if there is no table of units.
    pub fn states(&self) -> BTreeMap<&str, usize> {
        let mut states = BTreeMap::new();
        for unit in self.units.iter().filter(|u| u.origin.is_empty()) {
            *states.entry(unit.state.as_str()).or_default() += 1;
        }
        if self.units.is_empty() {
            for row in &self.endpoints {
                *states.entry(row.state.as_str()).or_default() += 1;
            }
        }
        states
    }
}

fn evaluations(path: &Path) -> Result<Vec<Evaluation>, ReportError> {
    let names = &["source", "arm", "condition", "update", "value", "state", "unit", "note"];
    Rows::open(path, names)?.map(|row| {
        Ok(Evaluation {
            source: row.text(0),
            arm: row.text(1),
            condition: canonical_condition(&row.text(2)),
            update: row.number(3)?,
            value: row.number(4)?,
            state: row.text(5),
            unit: row.text(6),
            note: row.text(7),
        })
    })
}

fn analysis(path: &Path) -> Result<Vec<Judged>, ReportError> {
    let names = &[
        "family",
        "contrast",
        "expression",
        "direction",
        "sources",
        "mean",
        "lower",
        "upper",
        "bound",
        "level",
        "size",
        "exact_p",
        "floor",
        "agreeing",
        "verdict",
        "status",
        "why",
    ];
    Rows::open(path, names)?.map(|row| {
        Ok(Judged {
            family: row.text(0),
            contrast: row.text(1),
            expression: row.text(2),
            direction: row.text(3),
            sources: row.number(4)?,
            mean: row.number(5)?,
            lower: row.number(6)?,
            upper: row.number(7)?,
            bound: row.text(8),
            level: row.number(9)?,
            size: row.number(10)?,
            exact_p: row.number(11)?,
            floor: row.number(12)?,
            agreeing: row.text(13),
            verdict: row.text(14),
            status: row.text(15),
            why: row.text(16),
        })
    })
}

/// Agreements of the analytic system as rows of an analysis: descriptive, nothing of it is frozen.
fn agreements(path: &Path) -> Result<Vec<Judged>, ReportError> {
    let names = &["quantity", "ordering", "value", "lower", "upper"];
    Rows::open(path, names)?.map(|row| {
        Ok(Judged {
            family: row.text(0),
            contrast: row.text(1),
            expression: String::new(),
            direction: String::new(),
            sources: None,
            mean: row.number(2)?,
            lower: row.number(3)?,
            upper: row.number(4)?,
            bound: "pointwise 95% over seeds".into(),
            level: None,
            size: None,
            exact_p: None,
            floor: None,
            agreeing: String::new(),
            verdict: String::new(),
            status: "descriptive".into(),
            why: String::new(),
        })
    })
}

/// Costs of one update as measurements at no condition in particular.
fn costs(path: &Path) -> Result<Vec<Measurement>, ReportError> {
    let names = &["checkpoint", "quantity", "cut", "part", "value", "note"];
    let rows = Rows::open(path, names)?.map(|row| {
        Ok(Measurement {
            source: row.text(0),
            arm: String::new(),
            condition: "any".to_owned(),
            update: None,
            quantity: row.text(1),
            cut: row.text(2),
            part: row.text(3),
            value: row.number(4)?,
            note: row.text(5),
            state: "done".to_owned(),
        })
    })?;
    // The rows over all states repeat the others.
    Ok(rows.into_iter().filter(|row| row.source != "all").collect())
}

fn measurements(path: &Path) -> Result<Vec<Measurement>, ReportError> {
    let names = &[
        "source",
        "arm",
        "condition",
        "update",
        "quantity",
        "cut",
        "part",
        "value",
        "note",
        "state",
    ];
    Rows::open(path, names)?.map(|row| {
        Ok(Measurement {
            source: row.text(0),
            arm: row.text(1),
            condition: canonical_condition(&row.text(2)),
            update: row.number(3)?,
            quantity: row.text(4),
            cut: row.text(5),
            part: row.text(6),
            value: row.number(7)?,
            note: row.text(8),
            state: row.text(9),
        })
    })
}

fn units(path: &Path) -> Result<Vec<Unit>, ReportError> {
    let names = &[
        "unit",
        "arm",
        "condition",
        "source",
        "from",
        "state",
        "updates",
        "clipped",
        "note",
        "?origin",
    ];
    Rows::open(path, names)?.map(|row| {
        Ok(Unit {
            unit: row.text(0),
            arm: row.text(1),
            condition: canonical_condition(&row.text(2)),
            source: row.text(3),
            from: row.text(4),
            state: row.text(5),
            updates: row.number(6)?,
            clipped: row.number(7)?,
            note: row.text(8),
            origin: row.text(9),
        })
    })
}

fn provenance(path: &Path) -> Result<Vec<Provenance>, ReportError> {
    let names = &["unit", "content", "head", "seconds"];
    Rows::open(path, names)?.map(|row| {
        Ok(Provenance {
            unit: row.text(0),
            content: row.text(1),
            head: row.text(2),
            seconds: row.number(3)?,
        })
    })
}

/// Tables that only some studies have.
const EXTRAS: [(&str, &str); 2] = [
    ("plans.csv", "How many sources a noninferiority study would need"),
    ("comparisons.csv", "Endpoints of unpaired sources compared"),
];

fn extras(folder: &Path) -> Result<Vec<Extra>, ReportError> {
    let mut extras = Vec::new();
    for (file, title) in EXTRAS {
        let path = folder.join(file);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(ReportError::Unreadable { path, problem: error.to_string() }),
        };
        let raw = backcut_stats::table::RawTable::from_csv(&bytes)
            .map_err(|error| ReportError::Table { path, row: 0, problem: error.to_string() })?;
        let rows = raw.rows.into_iter().map(|(_, row)| row).collect();
        extras.push(Extra { title, columns: raw.header, rows });
    }
    Ok(extras)
}
