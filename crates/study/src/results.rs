//! What became of a study's units: read from their records, or from tables where those are not
//! handed on.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use backcut_evidence::tables::rows::{Observation, ProvenanceRow, UnitRow};
use backcut_evidence::tables::{UnitState, folder, names};
use backcut_files::Hash;
use backcut_lab::measure::Finding;
use serde_json::Value as Json;

use crate::error::StudyError;
use crate::plan::{Place, Plan};
use crate::status::states;
use crate::store::{Recorded, Store, read_table};
use crate::study::Study;
use crate::summary::{Evaluation, Outcome, Summary};
use crate::unit::UnitId;

/// The key of `about.json` for units that were begun anew.
pub(crate) const RAN_AGAIN: &str = "runs of units that ran more than once";

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
    /// How often units of programs were begun anew, where that is more than once.
    pub runs: BTreeMap<UnitId, u64>,
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
            let panicked = || Err(StudyError::bug("reading results panicked"));
            workers.into_iter().map(|w| w.join().unwrap_or_else(|_| panicked())).collect()
        });
        let mut summaries = Vec::with_capacity(plan.units.len());
        for part in parts {
            summaries.extend(part?);
        }
        let mut runs = BTreeMap::new();
        if study.arms.iter().any(|arm| arm.program.is_some()) {
            runs.extend(plan.units.iter().map(|unit| (unit.id, store.runs(&unit.id))));
            runs.retain(|_, count| *count > 1);
        }
        Ok(Self { study, plan, states, summaries, runs })
    }

    /// Results as far as collected tables tell them, where records are not handed on.
    pub fn from_tables(path: &Path, study: &'a Study, plan: &'a Plan) -> Result<Self, StudyError> {
        let units: Vec<UnitRow> = read_table(path, names::UNITS)?;
        let provenance: Vec<ProvenanceRow> = read_table(path, names::PROVENANCE)?;
        let numbers = folder::observations(path)?.ok_or_else(|| {
            let path = path.join(names::OBSERVATIONS).with_extension("csv");
            StudyError::io(&path)(std::io::ErrorKind::NotFound.into())
        })?;
        let units: HashMap<Hash, UnitRow> = units.into_iter().map(|row| (row.unit, row)).collect();
        let mut outcomes: HashMap<String, Outcome> = HashMap::new();
        for row in numbers {
            let is_error = row.is_error();
            let Observation { update, quantity, of, part, value, unit, note, .. } = row;
            let outcome = outcomes.entry(unit).or_default();
            if is_error {
                let is_new = outcome.evaluations.iter().all(|known| known.update != update);
                let evaluation = value.map(|mean| Evaluation { update, mean });
                outcome.evaluations.extend(evaluation.filter(|_| is_new));
            } else if part.is_some() || value.is_some() {
                // A row of a state without findings names neither part nor value.
                let (of, part) = (of.unwrap_or_default().into(), part.unwrap_or_default());
                outcome.findings.push(Finding { quantity, of, part, value, note });
            }
        }
        let provenance: HashMap<Hash, ProvenanceRow> =
            provenance.into_iter().map(|row| (row.unit, row)).collect();
        let (mut states, mut summaries) = (Vec::new(), Vec::new());
        for unit in &plan.units {
            let row = units.get(&unit.id);
            let state = row.map_or(UnitState::Pending, |row| row.state);
            states.push(state);
            let outcome = match (state, row) {
                (UnitState::Done, Some(row)) => {
                    let found = outcomes.get(&unit.id.short()).cloned();
                    Outcome { clipped: row.clipped, ..found.unwrap_or_default() }
                }
                (UnitState::Failed, Some(row)) => {
                    Outcome { failure: Some(row.note.clone()), ..Outcome::default() }
                }
                _ => {
                    summaries.push(None);
                    continue;
                }
            };
            summaries.push(provenance.get(&unit.id).map(|row| {
                let &ProvenanceRow { content, head, seconds, .. } = row;
                let provenance = serde_json::Map::new(); // it stands in about.json alone
                Summary { outcome, content, head, seconds, provenance }
            }));
        }
        let about = backcut_files::read_text(&path.join("about.json")).unwrap_or_default();
        let about: Json = serde_json::from_str(&about).unwrap_or_default();
        let runs = serde_json::from_value(about[RAN_AGAIN].clone()).unwrap_or_default();
        Ok(Self { study, plan, states, summaries, runs })
    }

    /// The evaluation error of a place at an update (its last by default).
    pub fn error(&self, place: &Place, at: Option<u64>) -> Option<f64> {
        let at = at.unwrap_or(self.study.arms[place.arm as usize].updates);
        let mut evaluations = self.outcome(place)?.evaluations.iter();
        evaluations.find(|known| known.update == at).map(|known| known.mean)
    }

    /// The values of a place, by update.
    pub(crate) fn curve(&self, place: &Place) -> &[Evaluation] {
        self.outcome(place).map_or(&[], |outcome| &outcome.evaluations)
    }

    /// A measured quantity (`name`, `name/part` or `name/part/cut`) of a place. The outer `None`
    /// says that this place measures something else.
    pub fn quantity(&self, place: &Place, quantity: &str, at: Option<u64>) -> Option<Option<f64>> {
        let update = self.measured_at(place)?;
        if at.is_some_and(|at| at != update) {
            return None;
        }
        let mut parts = quantity.splitn(3, '/');
        let (name, part, cut) = (parts.next()?, parts.next(), parts.next());
        let outcome = self.outcome(place).filter(|outcome| outcome.failure.is_none());
        let Some(outcome) = outcome else { return Some(None) };
        let found = outcome.findings.iter().find(|f| {
            f.quantity == name && part.is_none_or(|p| f.part == p) && cut.is_none_or(|c| f.of == *c)
        });
        found.map(|f| f.value)
    }

    /// The update at which a place has findings; none if it has no such.
    pub(crate) fn measured_at(&self, place: &Place) -> Option<u64> {
        let arm = &self.study.arms[place.arm as usize];
        match place.measured {
            Some(m) => Some(self.study.measured[m as usize].update),
            None => arm.program.is_some().then_some(arm.updates),
        }
    }

    /// The endpoints of a cell, one per source.
    pub fn cell(&self, name: &str) -> Vec<Option<f64>> {
        let is_here = |place: &&Place| self.study.cell(place).0.is_called(name);
        self.trained().filter(is_here).map(|place| self.error(place, None)).collect()
    }

    pub(crate) fn trained(&self) -> impl Iterator<Item = &Place> {
        self.plan.places.iter().filter(|place| place.measured.is_none())
    }

    pub(crate) fn outcome(&self, place: &Place) -> Option<&Outcome> {
        self.summaries[place.unit as usize].as_ref().map(|summary| &summary.outcome)
    }

    /// The state of a place's unit, and why it has no result.
    pub(crate) fn state(&self, place: &Place) -> (UnitState, String) {
        let state = self.states[place.unit as usize];
        let note = match self.outcome(place).and_then(|outcome| outcome.failure.clone()) {
            Some(what) => what,
            None if state == UnitState::Blocked => "what it starts from failed".to_owned(),
            None => String::new(),
        };
        (state, note)
    }

    pub(crate) fn unit(&self, place: &Place) -> UnitId {
        self.plan.units[place.unit as usize].id
    }
}
