//! The tables of one study.

use std::collections::BTreeMap;
use std::path::Path;

use backcut_evidence::ledger::{Standing, Status};
use backcut_evidence::tables::rows::{
    AgreementRow, AnalysisRow, EvaluationRow, FindingRow, MeasurementRow, ProvenanceRow, UnitRow,
};
use backcut_evidence::tables::{Judgement, UnitState};

use super::about;
use super::cells::canonical_condition;
use super::read::{self, rows};
use crate::report::error::ReportError;

/// A contrast as the study judged it.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// The family it belongs to.
    pub family: String,
    /// Its name.
    pub contrast: String,
    /// Its expression over cells.
    pub expression: String,
    /// The side that was predicted, if one was.
    pub direction: Option<String>,
    /// How many sources it rests on.
    pub sources: Option<u64>,
    /// The estimate.
    pub mean: Option<f64>,
    /// The lower end.
    pub lower: Option<f64>,
    /// The upper end.
    pub upper: Option<f64>,
    /// The pointwise interval.
    pub pointwise: Option<[f64; 2]>,
    /// The kind of bound, in words.
    pub bound: String,
    /// The level.
    pub level: Option<f64>,
    /// The family's size.
    pub size: Option<u64>,
    /// The exact test's p-value; tables of earlier versions hold only the adjusted one.
    pub unadjusted_p: Option<f64>,
    /// The same, adjusted for the family.
    pub adjusted_p: Option<f64>,
    /// The smallest p-value that was possible.
    pub floor: Option<f64>,
    /// Sources that agree.
    pub agreeing: Option<u64>,
    /// The decision; none where nothing was to be decided.
    pub verdict: Option<Judgement>,
    /// What it may claim.
    pub status: Standing,
    /// Why the ledger granted the status.
    pub why: String,
}

impl From<AnalysisRow> for Judged {
    fn from(row: AnalysisRow) -> Self {
        let row = row.clone().told_like(&row);
        Self {
            family: row.family,
            contrast: row.contrast,
            expression: row.expression,
            direction: row.direction,
            sources: row.sources,
            mean: row.mean,
            lower: row.lower,
            upper: row.upper,
            pointwise: row.pointwise_lower.zip(row.pointwise_upper).map(<[f64; 2]>::from),
            bound: row.bound.to_string(),
            level: Some(row.level),
            size: Some(row.size),
            unadjusted_p: row.unadjusted_p,
            adjusted_p: row.adjusted_p,
            floor: row.floor,
            agreeing: row.agreeing,
            verdict: Some(row.verdict).filter(|verdict| *verdict != Judgement::Described),
            status: row.status,
            why: row.why,
        }
    }
}

impl Judged {
    /// An agreement of orderings as a row of an analysis: descriptive, nothing of it is frozen.
    fn of_agreement(row: AgreementRow, over: &str) -> Self {
        Self {
            family: row.quantity,
            contrast: row.ordering,
            expression: String::new(),
            direction: None,
            sources: None,
            mean: Some(row.value.0),
            lower: Some(row.lower.0),
            upper: Some(row.upper.0),
            pointwise: None,
            bound: format!("pointwise 95% over {over}"),
            level: None,
            size: None,
            unadjusted_p: None,
            adjusted_p: None,
            floor: None,
            agreeing: None,
            verdict: None,
            status: Status::Descriptive.into(),
            why: String::new(),
        }
    }
}

impl Judged {
    /// The interval, if both ends are there.
    pub fn interval(&self) -> Option<[f64; 2]> {
        Some([self.lower?, self.upper?])
    }

    /// The estimate with its interval, or with the one end that a one-sided bound has.
    pub fn estimate(&self) -> String {
        let mean = |mean| crate::report::format::estimate(mean, self.interval());
        let mean = self.mean.map_or_else(|| crate::report::format::NONE.to_owned(), mean);
        match (self.lower, self.upper) {
            (None, Some(upper)) => {
                format!("{mean} (upper {})", crate::report::format::number(upper))
            }
            (Some(lower), None) => {
                format!("{mean} (lower {})", crate::report::format::number(lower))
            }
            _ => mean,
        }
    }

    /// Sources that agree, of how many.
    pub fn agreement(&self) -> String {
        match (self.agreeing, self.sources) {
            (Some(agreeing), Some(n)) => format!("{agreeing}/{n}"),
            (Some(agreeing), None) => agreeing.to_string(),
            (None, _) => String::new(),
        }
    }

    /// The decision in words.
    pub fn decision(&self) -> String {
        self.verdict.as_ref().map(Judgement::to_string).unwrap_or_default()
    }

    /// The kind of interval in words: bound, level, family.
    pub fn kind(&self) -> String {
        let level = self.level.map_or_else(String::new, |l| {
            let percent = if l <= 0.5 { 100.0 * (1.0 - l) } else { 100.0 * l };
            format!(
                " {}%",
                crate::report::format::number(percent).trim_end_matches('0').trim_end_matches('.')
            )
        });
        let size = self.size.map_or_else(String::new, |m| format!(", family of {m}"));
        format!("{}{level}{size}", self.bound)
    }
}

/// A table that is shown as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extra {
    /// Its file.
    pub file: &'static str,
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
            let cells: Vec<String> = cells.iter().map(|c| crate::report::escape::csv(c)).collect();
            cells.join(",") + "\n"
        };
        let rows: Vec<String> = self.rows.iter().map(|row| line(row)).collect();
        line(&self.columns) + &rows.concat()
    }
}

/// Every source that was planned, with its value once the unit is done.
pub type SourceValues = BTreeMap<String, Option<f64>>;

/// Arm and condition, in its one spelling, to sources and values.
pub(super) type Cells = BTreeMap<(String, String), SourceValues>;

/// One study's tables.
#[derive(Clone, Debug)]
pub struct Study {
    /// The folder's name.
    pub name: String,
    /// Errors at the last update.
    pub endpoints: Vec<EvaluationRow>,
    /// Errors along training.
    pub curves: Vec<EvaluationRow>,
    /// Contrasts.
    pub analysis: Vec<Judged>,
    /// Measurements.
    pub measurements: Vec<MeasurementRow>,
    /// Units of work.
    pub units: Vec<UnitRow>,
    /// Where results come from.
    pub provenance: Vec<ProvenanceRow>,
    /// Plans and comparisons, shown as they are.
    pub extras: Vec<Extra>,
    /// Facts about the run, flattened.
    pub about: Vec<(String, String)>,
    pub(super) cells: Cells,
    /// Places of a quantity's rows among the measurements.
    places: BTreeMap<String, Vec<usize>>,
}

const TABLES: [&str; 8] = [
    "endpoints.csv",
    "measurements.csv",
    "analysis.csv",
    "units.csv",
    AGREEMENT,
    ORDERINGS,
    COST,
    STREAMS,
];

/// What `backcut measure streams --out` writes.
const STREAMS: &str = "streams.csv";

/// What `backcut measure cost --out` writes; a cost belongs to no condition.
const COST: &str = "cost.csv";

/// What `backcut measure analytic --out` writes: shares of pairs with their intervals over seeds.
const AGREEMENT: &str = "analytic_agreement.csv";

/// What `backcut measure orderings --out` writes: the same with intervals over sources.
const ORDERINGS: &str = "orderings.csv";

/// Whether a folder holds a study.
pub(super) fn holds_a_study(folder: &Path) -> bool {
    TABLES.iter().any(|table| folder.join(table).is_file())
}

impl Study {
    pub(super) fn open(name: String, folder: &Path) -> Result<Self, ReportError> {
        let endpoints: Vec<EvaluationRow> = rows(&folder.join("endpoints.csv"))?;
        let mut cells = Cells::new();
        for row in &endpoints {
            let place = (row.arm.clone(), canonical_condition(&row.condition));
            let cell = cells.entry(place).or_default();
            let value = row.value.filter(|_| row.state == UnitState::Done);
            if cell.insert(row.source.clone(), value).is_some() {
                let problem = format!(
                    "source {}, arm {} and condition {} appear twice",
                    row.source, row.arm, row.condition
                );
                let path = folder.join("endpoints.csv");
                return Err(ReportError::Table { path, row: 0, problem });
            }
        }
        let judged: Vec<AnalysisRow> = rows(&folder.join("analysis.csv"))?;
        let mut judged: Vec<Judged> = judged.into_iter().map(Judged::from).collect();
        for (file, over) in [(AGREEMENT, "seeds"), (ORDERINGS, "sources")] {
            let agreements: Vec<AgreementRow> = rows(&folder.join(file))?;
            judged.extend(agreements.into_iter().map(|row| Judged::of_agreement(row, over)));
        }
        let mut measurements: Vec<MeasurementRow> = rows(&folder.join("measurements.csv"))?;
        measurements.extend(costs(&folder.join(COST))?);
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, row) in measurements.iter().enumerate() {
            match places.get_mut(&row.quantity) {
                Some(known) => known.push(place),
                None => drop(places.insert(row.quantity.clone(), vec![place])),
            }
        }
        Ok(Self {
            places,
            curves: rows(&folder.join("curves.csv"))?,
            analysis: judged,
            measurements,
            units: rows(&folder.join("units.csv"))?,
            provenance: rows(&folder.join("provenance.csv"))?,
            extras: extras(folder)?,
            about: about::facts(&folder.join("about.json"))?,
            name,
            endpoints,
            cells,
        })
    }

    /// The rows of a measured quantity, in the order of the table.
    pub fn measured(&self, quantity: &str) -> impl Iterator<Item = &MeasurementRow> {
        let places = self.places.get(quantity).map_or(&[][..], Vec::as_slice);
        places.iter().map(|place| &self.measurements[*place])
    }

    /// A fact about the run.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.about.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Units by state, sorted by state, without those of other studies; endpoints stand in if there is no table of units.
    pub fn states(&self) -> BTreeMap<&'static str, usize> {
        let mut states = BTreeMap::new();
        for unit in self.units.iter().filter(|u| u.origin.is_empty()) {
            *states.entry(unit.state.word()).or_default() += 1;
        }
        if self.units.is_empty() {
            for row in &self.endpoints {
                *states.entry(row.state.word()).or_default() += 1;
            }
        }
        states
    }
}

/// Costs of one update as measurements at no condition in particular.
fn costs(path: &Path) -> Result<Vec<MeasurementRow>, ReportError> {
    let findings: Vec<FindingRow> = rows(path)?;
    // The rows over all states repeat the others.
    let of_states = findings.into_iter().filter(|row| row.checkpoint != "all");
    let measurement = |row: FindingRow| MeasurementRow {
        source: row.checkpoint,
        arm: String::new(),
        condition: "any".to_owned(),
        update: 0,
        quantity: row.quantity,
        cut: Some(row.cut),
        part: Some(row.part),
        value: row.value.map(|value| value.0),
        note: row.note,
        state: UnitState::Done,
        unit: String::new(),
    };
    Ok(of_states.map(measurement).collect())
}

/// Tables that only some studies have.
const EXTRAS: [(&str, &str); 3] = [
    ("plans.csv", "How many sources a noninferiority study would need"),
    ("comparisons.csv", "Endpoints of unpaired sources compared"),
    (STREAMS, "Inputs of two sampling streams compared"),
];

fn extras(folder: &Path) -> Result<Vec<Extra>, ReportError> {
    let mut extras = Vec::new();
    for (file, title) in EXTRAS {
        let path = folder.join(file);
        let Some(bytes) = read::bytes(&path)? else { continue };
        let raw = backcut_stats::table::RawTable::from_csv(&bytes)
            .map_err(|error| ReportError::Table { path, row: 0, problem: error.to_string() })?;
        let rows = raw.rows.into_iter().map(|(_, row)| row).collect();
        extras.push(Extra { file, title, columns: raw.header, rows });
    }
    Ok(extras)
}
