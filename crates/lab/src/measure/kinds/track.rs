//! Values along single trajectories of the panel: what a picture of a flight or a voyage is drawn
//! from.

use crate::measure::define::{Definition, define};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::panel;
use crate::measure::subject::Subject;

/// What its quantities are.
pub const DEFINITIONS: &[Definition] = &[define(
    "track",
    "track.value",
    "a column of a state, an input or a tap at step t of one trajectory of the panel (part \
     NAME[COLUMN], row R, t=T)",
)];

/// What the states, inputs or taps `values` hold along the trajectories `rows` of the panel, of
/// each its first `columns`, or all.
pub fn track(
    subject: &Subject,
    values: &[String],
    rows: &[usize],
    columns: Option<usize>,
) -> Result<Vec<Finding>, MeasureError> {
    let (system, model) = (subject.system, panel::model(subject)?);
    let program = system.program();
    if let Some(row) = rows.iter().find(|row| **row >= system.panel_rows()) {
        let last = system.panel_rows() - 1;
        let what = format!("the panel has no trajectory {row}; its last is {last}");
        return Err(MeasureError::Unfit(what));
    }
    let sites = values
        .iter()
        .map(|name| panel::site(program, name).map(|site| (name, site)))
        .collect::<Result<Vec<_>, _>>()?;
    if rows.is_empty() || sites.is_empty() {
        let what = "a track needs a value and a trajectory at least";
        return Err(MeasureError::Unfit(what.to_owned()));
    }
    let rollout = panel::roll_rows(subject, &model, rows)?;
    let mut findings = Vec::new();
    for (name, site) in sites {
        let width = program.width(site);
        let shown = columns.unwrap_or(width);
        if shown == 0 || shown > width {
            let what = format!("`{name}` has {width} columns, not {shown}");
            return Err(MeasureError::Unfit(what));
        }
        for (place, row) in rows.iter().enumerate() {
            for column in 0..shown {
                for t in 0..system.steps() {
                    let value = f64::from(rollout.value(site, t)[place * width + column]);
                    let part = part(name, column, *row, t);
                    findings.push(Finding::new("track.value", "", part, value));
                }
            }
        }
    }
    Ok(findings)
}

/// A place of a track as findings name it.
pub fn part(name: &str, column: usize, row: usize, step: usize) -> String {
    format!("{name}[{column}], row {row}, t={step}")
}
