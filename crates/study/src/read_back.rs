//! Results read back from collected tables, where records are not handed on.

use std::collections::HashMap;
use std::path::Path;

use backcut_evidence::tables::rows::{EvaluationRow, MeasurementRow, ProvenanceRow, UnitRow};
use backcut_evidence::tables::{UnitState, names};
use backcut_files::Hash;
use backcut_lab::measure::Finding;

use crate::collect::Results;
use crate::error::StudyError;
use crate::plan::Plan;
pub(crate) use crate::store::read_table as read;
use crate::study::Study;
use crate::summary::{OutcomeSummary, Summary};

impl<'a> Results<'a> {
    /// Results as far as collected tables tell them.
    pub fn from_tables(path: &Path, study: &'a Study, plan: &'a Plan) -> Result<Self, StudyError> {
        let units: Vec<UnitRow> = read(path, names::UNITS)?;
        let curves: Vec<EvaluationRow> = read(path, names::CURVES)?;
        let provenance: Vec<ProvenanceRow> = read(path, names::PROVENANCE)?;
        // A program may have found something or not: then there is a table or none.
        let has_programs = study.arms.iter().any(|arm| arm.program.is_some());
        let is_there = || path.join(format!("{}.csv", names::MEASUREMENTS)).exists();
        let measurements: Vec<MeasurementRow> =
            if !study.measured.is_empty() || has_programs && is_there() {
                read(path, names::MEASUREMENTS)?
            } else {
                Vec::new()
            };
        let mut state: HashMap<Hash, &UnitRow> = HashMap::new();
        state.extend(units.iter().map(|row| (row.unit, row)));
        let mut evaluations: HashMap<Hash, Vec<(u64, f64)>> = HashMap::new();
        for row in &curves {
            if let Some(value) = row.value {
                let of = evaluations.entry(row.unit).or_default();
                if of.iter().all(|(update, _)| *update != row.update) {
                    of.push((row.update, value));
                }
            }
        }
        let mut findings: HashMap<String, Vec<Finding>> = HashMap::new();
        for row in measurements {
            // A row of a state without findings names neither part nor value.
            if row.part.is_some() || row.value.is_some() {
                let MeasurementRow { quantity, value, note, .. } = row;
                let (cut, part) = (row.cut.unwrap_or_default(), row.part.unwrap_or_default());
                let finding = Finding { quantity, of: cut.into(), part, value, note };
                findings.entry(row.unit).or_default().push(finding);
            }
        }
        let origin: HashMap<Hash, &ProvenanceRow> =
            provenance.iter().map(|row| (row.unit, row)).collect();
        let (mut states, mut summaries) = (Vec::new(), Vec::new());
        for unit in &plan.units {
            let row = state.get(&unit.id);
            states.push(row.map_or(UnitState::Pending, |row| row.state));
            let is_program = study.arms[unit.arm as usize].program.is_some();
            let found = || findings.get(&unit.id.short()).cloned().unwrap_or_default();
            let mut seen = || evaluations.remove(&unit.id).unwrap_or_default();
            let outcome = match row.map(|row| (row.state, unit.measured)) {
                Some((UnitState::Done, None)) if is_program => {
                    OutcomeSummary::Ran { evaluations: seen(), findings: found() }
                }
                Some((UnitState::Done, None)) => OutcomeSummary::Trained {
                    clipped: row.and_then(|row| row.clipped).unwrap_or(0),
                    evaluations: seen(),
                },
                Some((UnitState::Done, Some(_))) => OutcomeSummary::Measured { findings: found() },
                Some((UnitState::Failed, _)) => OutcomeSummary::Failed {
                    what: row.map_or_else(String::new, |r| r.note.clone()),
                },
                _ => {
                    summaries.push(None);
                    continue;
                }
            };
            summaries.push(origin.get(&unit.id).map(|row| {
                let ProvenanceRow { content, head, seconds, .. } = **row;
                let provenance = serde_json::Map::new(); // it stands in about.json alone
                Summary { outcome, content, head, seconds, provenance }
            }));
        }
        Ok(Self { study, plan, states, summaries })
    }
}
