//! What ran, what failed and what is missing.

use std::fmt::Write as _;

use backcut_evidence::tables::UnitState;

use super::Table;
use crate::report::escape::csv;
use crate::report::results::Study;
use crate::report::summary::states_line;

/// More rows than this go to the CSV only.
const SHOWN: usize = 100;

pub fn units(studies: &[&Study]) -> Table {
    let mut file = "study,unit,arm,condition,source,state,updates,clipped,note\n".to_owned();
    let mut rows = Vec::new();
    let mut summary = Vec::new();
    for study in studies {
        // Studies that only judge what others ran have none.
        if !study.states().is_empty() {
            summary.push(states_line(study));
        }
        for unit in &study.units {
            // The start of its hash, as messages show it: pages hold this file.
            let unit_id = unit.unit.short();
            let _ = writeln!(
                file,
                "{},{},{},{}",
                [
                    study.name.as_str(),
                    &unit_id,
                    &unit.arm,
                    &unit.condition,
                    &unit.source,
                    unit.state.word(),
                ]
                .map(csv)
                .join(","),
                unit.updates,
                unit.clipped.map_or_else(String::new, |count| count.to_string()),
                csv(&unit.note)
            );
            if unit.state != UnitState::Done && unit.origin.is_empty() {
                let row = vec![
                    study.name.clone(),
                    unit.arm.clone(),
                    unit.condition.clone(),
                    unit.source.clone(),
                    unit.state.to_string(),
                    unit.note.clone(),
                ];
                rows.push((unit.state, row));
            }
        }
    }
    let count = rows.len();
    // Failures first: they say why; what has not run yet says nothing.
    rows.sort_by_key(|(state, _)| (*state != UnitState::Failed, state.word()));
    rows.truncate(SHOWN);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    let mut notes = if summary.is_empty() { vec![] } else { vec![summary.join("; ") + "."] };
    if count == 0 {
        notes.push("Every unit is done.".into());
    } else if count > SHOWN {
        notes.push(format!(
            "{SHOWN} of {count} units that are not done are shown; the CSV has all."
        ));
    }
    let columns = ["study", "arm", "condition", "source", "state", "note"];
    Table {
        name: "units".into(),
        title: "Units that failed or are missing".into(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        notes,
        csv: file,
    }
}
