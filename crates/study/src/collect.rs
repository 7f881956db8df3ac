//! From unit files to tidy tables, with missing and failed units as rows.
//!
//! What depends on the moment (seconds, the ledger's head) stands in `provenance.csv` and `about.json`;
//! the other tables are a function of the definitions alone: however often a run was killed, they come
//! out byte for byte the same.

use std::path::Path;
use std::time::Duration;

use backcut_measure::Finding;
use serde_json::{Value as Json, json};

use crate::analyse;
use crate::commit;
use crate::error::StudyError;
use crate::plan::{Place, Plan};
use crate::status::{UnitState, counts, states};
use crate::store::{Recorded, Store, publish};
use crate::study::Study;
use crate::summary::{Short, Summary};
use crate::table::{Kind, Table, Value};

/// Everything that tables are made from.
pub struct Results<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its plan.
    pub plan: &'a Plan,
    /// The state of every unit.
    pub states: Vec<UnitState>,
    /// What every unit with a record came to.
    pub summaries: Vec<Option<Summary>>,
}

impl<'a> Results<'a> {
    /// Reads the records of a study, on all cores.
    pub fn read(study: &'a Study, plan: &'a Plan, store: &Store) -> Result<Self, StudyError> {
        let states = states(plan, store, Duration::from_mins(1))?;
        let load = |index: usize| -> Result<Option<Summary>, StudyError> {
            let recorded = match states[index] {
                UnitState::Done => Recorded::Done,
                UnitState::Failed => Recorded::Failed,
                _ => return Ok(None),
            };
            Summary::load(store, &plan.units[index].id, recorded).map(Some)
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = plan.units.len().div_ceil(threads).max(1);
        let parts: Vec<Result<Vec<_>, StudyError>> = std::thread::scope(|scope| {
            let count = plan.units.len();
            let workers: Vec<_> = (0..count)
                .step_by(share)
                .map(|first| {
                    let load = &load;
                    scope.spawn(move || (first..count.min(first + share)).map(load).collect())
                })
                .collect();
            let panicked = || Err(StudyError::invalid("reading results panicked", "this is a bug"));
            workers.into_iter().map(|w| w.join().unwrap_or_else(|_| panicked())).collect()
        });
        let mut summaries = Vec::with_capacity(plan.units.len());
        for part in parts {
            summaries.extend(part?);
        }
        Ok(Self { study, plan, states, summaries })
    }

    /// The evaluation error of a place at an update (its last by default).
    pub fn error(&self, place: &Place, at: Option<u64>) -> Option<f64> {
        let at = at.unwrap_or(self.study.arms[place.arm as usize].updates);
        match &self.summaries[place.unit as usize].as_ref()?.outcome {
            Short::Trained { evaluations, .. } => {
                evaluations.iter().find(|(update, _)| *update == at).map(|(_, mean)| *mean)
            }
            _ => None,
        }
    }

    /// A measured quantity (`name`, `name/part` or `name/part/cut`) of a place. The outer `None` says
    /// that this place measures something else.
    pub fn quantity(&self, place: &Place, quantity: &str, at: Option<u64>) -> Option<Option<f64>> {
        let measured = &self.study.measured[place.measured? as usize];
        if at.is_some_and(|at| at != measured.update) {
            return None;
        }
        let mut parts = quantity.splitn(3, '/');
        let (name, part, cut) = (parts.next()?, parts.next(), parts.next());
        let Some(summary) = &self.summaries[place.unit as usize] else { return Some(None) };
        let Short::Measured { findings } = &summary.outcome else { return Some(None) };
        let found = findings.iter().find(|f| {
            f.quantity == name && part.is_none_or(|p| f.part == p) && cut.is_none_or(|c| f.cut == c)
        });
        found.map(|f| f.value)
    }

    /// The endpoints of a cell, one per source.
    pub fn cell(&self, cell: &str) -> Vec<Option<f64>> {
        let is_here = |place: &&Place| {
            let arm = &self.study.arms[place.arm as usize];
            let (condition, _) = &self.study.grids[arm.grid].conditions[place.condition as usize];
            place.measured.is_none() && format!("{}@{condition}", arm.name) == cell
        };
        self.plan.places.iter().filter(is_here).map(|place| self.error(place, None)).collect()
    }

    /// All tables. `parts` narrows `measurements.csv` to findings of these parts; none means all.
    pub fn tables(&self, store: &Store, parts: &[String]) -> Result<Vec<Table>, StudyError> {
        let ledger = commit::ledger(store)?;
        let mut tables = vec![
            self.endpoints(),
            self.curves(),
            self.units(),
            self.provenance(),
            analyse::analysis(self, &ledger)?,
        ];
        if self.plan.places.iter().any(|p| p.measured.is_some()) {
            tables.push(self.measurements(parts));
        }
        tables.extend(analyse::plans(self));
        tables.extend(analyse::comparisons(self));
        Ok(tables)
    }

    fn trained(&self) -> impl Iterator<Item = &Place> {
        self.plan.places.iter().filter(|place| place.measured.is_none())
    }

    /// Source, arm and condition of a place.
    fn names(&self, place: &Place) -> [Value; 3] {
        let arm = &self.study.arms[place.arm as usize];
        let grid = &self.study.grids[arm.grid];
        let source = grid.sources[place.source as usize];
        let (condition, _) = &grid.conditions[place.condition as usize];
        [source.into(), arm.name.as_str().into(), condition.as_str().into()]
    }

    /// State, unit and note of a place.
    fn state(&self, place: &Place) -> [Value; 3] {
        let state = self.states[place.unit as usize];
        let note = match &self.summaries[place.unit as usize] {
            Some(Summary { outcome: Short::Failed { what }, .. }) => what.clone(),
            _ if state == UnitState::Blocked => "what it starts from failed".to_owned(),
            _ => String::new(),
        };
        let unit = self.plan.units[place.unit as usize].id.to_string();
        [state.word().into(), unit.into(), note.into()]
    }

    fn endpoints(&self) -> Table {
        let mut table = Table::new("endpoints", &ERRORS);
        for place in self.trained() {
            let update = self.study.arms[place.arm as usize].updates;
            table.rows.push(self.error_row(place, update));
        }
        table
    }

    fn curves(&self) -> Table {
        let mut table = Table::new("curves", &ERRORS);
        for place in self.trained() {
            for &update in &self.study.arms[place.arm as usize].evaluations {
                table.rows.push(self.error_row(place, update));
            }
        }
        table
    }

    fn error_row(&self, place: &Place, update: u64) -> Vec<Value> {
        let mut row = self.names(place).to_vec();
        row.extend([update.into(), self.error(place, Some(update)).into()]);
        row.extend(self.state(place));
        row
    }

    fn units(&self) -> Table {
        let mut table = Table::new("units", &UNITS);
        for place in &self.plan.places {
            let arm = &self.study.arms[place.arm as usize];
            let [source, name, condition] = self.names(place);
            let [state, unit, note] = self.state(place);
            let (what, from, to) = match place.measured {
                Some(m) => {
                    let item = &self.study.measured[m as usize];
                    (crate::plan::kind(&item.what), item.update, item.update)
                }
                None => ("train".to_owned(), arm.from.map_or(0, |(_, at)| at), arm.updates),
            };
            let clipped = match self.summaries[place.unit as usize].as_ref().map(|s| &s.outcome) {
                Some(Short::Trained { clipped, .. }) => Some(*clipped),
                _ => None,
            };
            // A measurement is this study's own, whoever trained the state.
            let origin =
                arm.origin.clone().filter(|_| place.measured.is_none()).unwrap_or_default();
            table.rows.push(vec![
                unit,
                what.into(),
                name,
                condition,
                source,
                from.into(),
                to.into(),
                state,
                (to - from).into(),
                clipped.into(),
                origin.into(),
                note,
            ]);
        }
        table
    }

    fn provenance(&self) -> Table {
        let columns = [
            ("unit", Kind::Text),
            ("content", Kind::Text),
            ("head", Kind::Text),
            ("seconds", Kind::Number),
        ];
        let mut table = Table::new("provenance", &columns);
        for (unit, summary) in self.plan.units.iter().zip(&self.summaries) {
            let Some(summary) = summary else { continue };
            table.rows.push(vec![
                unit.id.to_string().into(),
                summary.content.as_str().into(),
                summary.head.as_str().into(),
                summary.seconds.into(),
            ]);
        }
        table
    }

    fn measurements(&self, parts: &[String]) -> Table {
        let mut table = Table::new("measurements", &MEASUREMENTS);
        for place in &self.plan.places {
            let Some(m) = place.measured else { continue };
            let update = self.study.measured[m as usize].update;
            let [state, _, note] = self.state(place);
            // Enough to find it in units.csv; a table of findings repeats it on every row.
            let unit: Value = self.plan.units[place.unit as usize].id.short().into();
            let start = || {
                let mut row = self.names(place).to_vec();
                row.push(update.into());
                row
            };
            let findings = match self.summaries[place.unit as usize].as_ref().map(|s| &s.outcome) {
                Some(Short::Measured { findings }) => findings.as_slice(),
                _ => &[],
            };
            let is_wanted = |f: &&Finding| parts.is_empty() || parts.contains(&f.part);
            for finding in findings.iter().filter(is_wanted) {
                let mut row = start();
                row.extend([finding.quantity.as_str().into(), finding.cut.as_str().into()]);
                row.extend([finding.part.as_str().into(), finding.value.into()]);
                row.extend([finding.note.as_str().into(), state.clone(), unit.clone()]);
                table.rows.push(row);
            }
            if findings.is_empty() {
                let what = crate::plan::kind(&self.study.measured[m as usize].what);
                let mut row = start();
                row.extend([what.into(), Value::Empty, Value::Empty, Value::Empty]);
                row.extend([note, state, unit]);
                table.rows.push(row);
            }
        }
        table
    }

    /// `about.json`: what a reader must know beside the tables.
    pub fn about(&self, store: &Store) -> Result<Json, StudyError> {
        let ledger = commit::ledger(store)?;
        let entry = ledger.freezing_entry(&self.study.name);
        let states = counts(&self.states);
        let states: serde_json::Map<String, Json> = UnitState::ALL
            .iter()
            .zip(states)
            .map(|(state, count)| (state.word().to_owned(), json!(count)))
            .collect();
        let seconds: f64 = self.summaries.iter().flatten().map(|s| s.seconds).sum();
        let updates: u64 =
            (0..self.plan.units.len() as u32).map(|u| self.plan.work(self.study, u)).sum();
        Ok(json!({
            "study": self.study.name,
            "title": self.study.title,
            "study file sha256": commit::file_hash(self.study),
            "numerics": backcut_kernels::NUMERICS_VERSION,
            "program": format!("backcut {}", env!("CARGO_PKG_VERSION")),
            "ledger head": ledger.head().to_string(),
            "frozen at": entry.map(|e| e.utc.to_string()),
            "frozen by entry": entry.map(|e| e.hash.to_string()),
            "units": self.plan.units.len(),
            "unit states": states,
            "updates": updates,
            "core seconds": (seconds * 10.0).round() / 10.0,
        }))
    }
}

const ERRORS: [(&str, Kind); 8] = [
    ("source", Kind::Text),
    ("arm", Kind::Text),
    ("condition", Kind::Text),
    ("update", Kind::Count),
    ("value", Kind::Number),
    ("state", Kind::Text),
    ("unit", Kind::Text),
    ("note", Kind::Text),
];

const UNITS: [(&str, Kind); 12] = [
    ("unit", Kind::Text),
    ("what", Kind::Text),
    ("arm", Kind::Text),
    ("condition", Kind::Text),
    ("source", Kind::Text),
    ("from", Kind::Count),
    ("to", Kind::Count),
    ("state", Kind::Text),
    ("updates", Kind::Count),
    ("clipped", Kind::Count),
    ("origin", Kind::Text),
    ("note", Kind::Text),
];

const MEASUREMENTS: [(&str, Kind); 11] = [
    ("source", Kind::Text),
    ("arm", Kind::Text),
    ("condition", Kind::Text),
    ("update", Kind::Count),
    ("quantity", Kind::Text),
    ("cut", Kind::Text),
    ("part", Kind::Text),
    ("value", Kind::Number),
    ("note", Kind::Text),
    ("state", Kind::Text),
    ("unit", Kind::Text),
];

/// Writes tables into a folder, with their SHA-256 in `SHA256SUMS`, the ledger beside them one level up.
pub fn write(
    tables: &[Table],
    about: &Json,
    store: &Store,
    folder: &Path,
    with_parquet: bool,
) -> Result<(), StudyError> {
    let mut sums = Vec::new();
    let mut put = |name: String, bytes: &[u8]| {
        sums.push(format!("{}  {name}\n", backcut_training::sha256(bytes)));
        publish(&folder.join(name), bytes)
    };
    for table in tables {
        put(format!("{}.csv", table.name), table.to_csv().as_bytes())?;
        #[cfg(feature = "parquet")]
        if with_parquet {
            put(format!("{}.parquet", table.name), &crate::table::to_parquet(table)?)?;
        }
    }
    #[cfg(not(feature = "parquet"))]
    let _ = with_parquet;
    let mut text = serde_json::to_string_pretty(about).unwrap_or_default();
    text.push('\n');
    put("about.json".to_owned(), text.as_bytes())?;
    sums.sort_by(|a, b| a[64..].cmp(&b[64..]));
    publish(&folder.join("SHA256SUMS"), sums.concat().as_bytes())?;
    let ledger = store.ledger();
    if let (Ok(bytes), Some(above)) = (std::fs::read(&ledger), folder.parent()) {
        publish(&above.join("ledger.jsonl"), &bytes)?;
    }
    Ok(())
}
