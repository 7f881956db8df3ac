//! The tables of one study.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use backcut_evidence::ledger::{Standing, Status};
use backcut_evidence::tables::rows::{
    AgreementRow, AnalysisRow, ERROR, FindingRow, Observation, ProvenanceRow, UnitRow,
};
use backcut_evidence::tables::{Judgement, UnitState, folder, names};

use super::about;
use super::cells::{SourceValues, canonical_condition, distinct, in_order};
use super::read;
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

/// Arm and condition, in its one spelling, to sources and values.
pub(super) type Cells = BTreeMap<(String, String), SourceValues>;

/// One study's tables.
#[derive(Clone, Debug)]
pub struct Study {
    /// The folder's name.
    pub name: String,
    /// Every number.
    pub observations: Vec<Observation>,
    /// Contrasts.
    pub analysis: Vec<Judged>,
    /// Units of work.
    pub units: Vec<UnitRow>,
    /// Where results come from.
    pub provenance: Vec<ProvenanceRow>,
    /// Plans and comparisons, shown as they are.
    pub extras: Vec<Extra>,
    /// Facts about the run, flattened.
    pub about: Vec<(String, String)>,
    pub(super) cells: Cells,
    /// Where the rows of a quantity are.
    places: HashMap<String, Vec<usize>>,
    /// Where the last error of every source, arm and condition is.
    ends: Vec<usize>,
    /// Every arm, in the order in which units, end points and measurements name them.
    pub(in crate::report) arms: Vec<String>,
}

const TABLES: [&str; 9] = [
    names::OBSERVATIONS,
    // The version before had these in its place.
    folder::FORMER[0],
    folder::FORMER[2],
    names::ANALYSIS,
    names::UNITS,
    AGREEMENT,
    ORDERINGS,
    COST,
    STREAMS,
];

/// What `backcut measure streams --out` writes.
const STREAMS: &str = "streams";

/// What `backcut measure cost --out` writes; a cost belongs to no condition.
const COST: &str = "cost";

/// What `backcut measure analytic --out` writes: shares of pairs with their intervals over seeds.
const AGREEMENT: &str = "analytic_agreement";

/// What `backcut measure orderings --out` writes: the same with intervals over sources.
const ORDERINGS: &str = "orderings";

/// Whether a folder holds a study.
pub(super) fn holds_a_study(folder: &Path) -> bool {
    TABLES.iter().any(|table| folder.join(format!("{table}.csv")).is_file())
}

impl Study {
    /// Says of every row that claims something that nothing here can show it.
    pub(super) fn without_ledger(&mut self) {
        for row in self.analysis.iter_mut().filter(|row| row.status.status > Status::Descriptive) {
            row.why = format!("not verified here, no ledger lies with these tables; {}", row.why);
        }
    }

    pub(super) fn open(name: String, folder: &Path) -> Result<Self, ReportError> {
        let mut observations = folder::observations(folder)?.unwrap_or_default();
        let ends = ends(&observations).map_err(|problem| {
            let path = folder.join("observations.csv");
            ReportError::Table { path, row: 0, problem }
        })?;
        let mut cells = Cells::new();
        for row in ends.iter().map(|end| &observations[*end]) {
            let place = (row.arm.clone(), canonical_condition(&row.condition));
            let value = row.value.filter(|_| row.state == UnitState::Done);
            cells.entry(place).or_default().insert(row.source.clone(), value);
        }
        let judged: Vec<AnalysisRow> = read::rows(folder, names::ANALYSIS)?;
        let mut judged: Vec<Judged> = judged.into_iter().map(Judged::from).collect();
        for (file, over) in [(AGREEMENT, "seeds"), (ORDERINGS, "sources")] {
            let agreements: Vec<AgreementRow> = read::rows(folder, file)?;
            judged.extend(agreements.into_iter().map(|row| Judged::of_agreement(row, over)));
        }
        observations.extend(costs(folder)?);
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, row) in observations.iter().enumerate() {
            match places.get_mut(&row.quantity) {
                Some(known) => known.push(place),
                None => drop(places.insert(row.quantity.clone(), vec![place])),
            }
        }
        let units: Vec<UnitRow> = read::rows(folder, names::UNITS)?;
        let of_ends = ends.iter().map(|end| &observations[*end]);
        let named = units.iter().map(|row| row.arm.as_str());
        let named = named.chain(of_ends.chain(&observations).map(|row| row.arm.as_str()));
        let arms = distinct(named.filter(|arm| !arm.is_empty()));
        Ok(Self {
            arms: arms.into_iter().map(str::to_owned).collect(),
            places,
            ends,
            observations,
            analysis: judged,
            units,
            provenance: read::rows(folder, names::PROVENANCE)?,
            extras: extras(folder)?,
            about: about::facts(&folder.join("about.json"))?,
            name,
            cells,
        })
    }

    /// The rows of a quantity, in the order of the table.
    pub fn measured(&self, quantity: &str) -> impl Iterator<Item = &Observation> {
        let places = self.places.get(quantity).map_or(&[][..], Vec::as_slice);
        places.iter().map(|place| &self.observations[*place])
    }

    /// Errors along training.
    pub fn errors(&self) -> impl Iterator<Item = &Observation> {
        self.measured(ERROR).filter(|row| row.is_error())
    }

    /// The last error of every source, arm and condition.
    pub fn endpoints(&self) -> impl Iterator<Item = &Observation> {
        self.ends.iter().map(|end| &self.observations[*end])
    }

    /// What was measured at kept states.
    pub fn measurements(&self) -> impl Iterator<Item = &Observation> {
        self.observations.iter().filter(|row| !row.is_error())
    }

    /// A fact about the run.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.about.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Units by state, sorted by state, without those of other studies; endpoints stand in if there
    /// is no table of units.
    pub fn states(&self) -> BTreeMap<&'static str, usize> {
        let mut states = BTreeMap::new();
        for unit in self.units.iter().filter(|u| u.origin.is_empty()) {
            *states.entry(unit.state.word()).or_default() += 1;
        }
        if self.units.is_empty() {
            for row in self.endpoints() {
                *states.entry(row.state.word()).or_default() += 1;
            }
        }
        states
    }
}

impl Study {
    /// The arms that have endpoints, in the order of their names.
    pub fn arms(&self) -> Vec<&str> {
        let mut arms: Vec<&str> = self.cells.keys().map(|(arm, _)| arm.as_str()).collect();
        arms.dedup();
        arms
    }

    /// The conditions that have endpoints, as the study spells them: numbers first, in their order.
    pub fn conditions(&self) -> Vec<&str> {
        in_order(self.endpoints().map(|row| row.condition.as_str()))
    }

    /// The values of a cell in this study's own tables.
    pub(super) fn own(&self, arm: &str, condition: &str) -> Option<&SourceValues> {
        self.cells
            .get(&(arm.to_owned(), canonical_condition(condition)))
            .filter(|cell| cell.values().any(Option::is_some))
    }
}

/// The last error of every place, in the order of first appearance.
fn ends(rows: &[Observation]) -> Result<Vec<usize>, String> {
    let mut known: HashMap<[&str; 3], usize> = HashMap::new();
    let mut ends: Vec<usize> = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.is_error()) {
        let at = *known.entry([&row.source, &row.arm, &row.condition]).or_insert(ends.len());
        let Some(end) = ends.get_mut(at) else {
            ends.push(index);
            continue;
        };
        match row.update.cmp(&rows[*end].update) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => {
                return Err(format!(
                    "source {}, arm {} and condition {} appear twice at update {}",
                    row.source, row.arm, row.condition, row.update
                ));
            }
            std::cmp::Ordering::Greater => *end = index,
        }
    }
    Ok(ends)
}

/// Costs of one update as observations at no condition in particular.
fn costs(folder: &Path) -> Result<Vec<Observation>, ReportError> {
    let findings: Vec<FindingRow> = read::rows(folder, COST)?;
    // The rows over all states repeat the others.
    let of_states = findings.into_iter().filter(|row| row.checkpoint != "all");
    let observation = |row: FindingRow| Observation {
        source: row.checkpoint,
        arm: String::new(),
        condition: "any".to_owned(),
        update: 0,
        quantity: row.quantity,
        of: Some(row.cut).filter(|cut| !cut.is_empty()),
        part: Some(row.part),
        value: row.value.map(|value| value.0),
        note: row.note,
        state: UnitState::Done,
        unit: String::new(),
    };
    Ok(of_states.map(observation).collect())
}

/// Tables that only some studies have.
const EXTRAS: [(&str, &str); 3] = [
    ("plans.csv", "How many sources a noninferiority study would need"),
    ("comparisons.csv", "Endpoints of unpaired sources compared"),
    ("streams.csv", "Inputs of two sampling streams compared"),
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
