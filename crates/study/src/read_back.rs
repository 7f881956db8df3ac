//! Results read back from collected tables, where records are not handed on.

use std::collections::HashMap;
use std::path::Path;

use backcut_ledger::Hash;
use backcut_measure::Finding;
use backcut_tables::rows::{EvaluationRow, MeasurementRow, ProvenanceRow, UnitRow};
use backcut_tables::{Row, UnitState, from_csv, names};

use crate::collect::Results;
use crate::error::StudyError;
use crate::plan::Plan;
use crate::study::Study;
use crate::summary::{OutcomeSummary, Summary};

/// A table of a folder.
pub(crate) fn read<R: Row>(folder: &Path, name: &str) -> Result<Vec<R>, StudyError> {
    let path = folder.join(format!("{name}.csv"));
    let bytes = backcut_files::read(&path).map_err(StudyError::io(&path))?;
    from_csv(&bytes).map_err(|error| StudyError::damaged(&path, error))
}

impl<'a> Results<'a> {
    /// Results as far as collected tables tell them.
    pub fn from_tables(path: &Path, study: &'a Study, plan: &'a Plan) -> Result<Self, StudyError> {
        let units: Vec<UnitRow> = read(path, names::UNITS)?;
        let curves: Vec<EvaluationRow> = read(path, names::CURVES)?;
        let provenance: Vec<ProvenanceRow> = read(path, names::PROVENANCE)?;
        let measurements: Vec<MeasurementRow> =
            if study.measured.is_empty() { Vec::new() } else { read(path, names::MEASUREMENTS)? };
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
                findings.entry(row.unit).or_default().push(Finding {
                    quantity,
                    cut,
                    part,
                    value,
                    note,
                });
            }
        }
        let origin: HashMap<Hash, &ProvenanceRow> =
            provenance.iter().map(|row| (row.unit, row)).collect();
        let (mut states, mut summaries) = (Vec::new(), Vec::new());
        for unit in &plan.units {
            let row = state.get(&unit.id);
            states.push(row.map_or(UnitState::Pending, |row| row.state));
            let outcome = match row.map(|row| (row.state, unit.measured)) {
                Some((UnitState::Done, None)) => OutcomeSummary::Trained {
                    clipped: row.and_then(|row| row.clipped).unwrap_or(0),
                    evaluations: evaluations.remove(&unit.id).unwrap_or_default(),
                },
                Some((UnitState::Done, Some(_))) => OutcomeSummary::Measured {
                    findings: findings.get(&unit.id.short()).cloned().unwrap_or_default(),
                },
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
                Summary { outcome, content, head, seconds }
            }));
        }
        Ok(Self { study, plan, states, summaries })
    }
}
