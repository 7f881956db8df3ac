//! What a contrast is computed from, as a commitment holds it: which unit fills which place.

use backcut_evidence::ledger::Sample;
use backcut_stats::Contrast;

use crate::plan::{Place, Plan};
use crate::study::{Study, StudyFamily};

/// Whether a place holds what a family compares: errors, or a quantity measured at its update.
pub(crate) fn is_of(family: &StudyFamily, study: &Study, place: &Place) -> bool {
    let at = point(family, study, place);
    let is_program = study.arms[place.arm as usize].program.is_some();
    match place.measured {
        // What a program has found stands beside its values.
        None if is_program && family.table.quantity.is_some() => {
            at == study.arms[place.arm as usize].updates
        }
        None => family.table.quantity.is_none(),
        Some(m) => family.table.quantity.is_some() && study.measured[m as usize].update == at,
    }
}

/// The update that a family compares in a place.
fn point(family: &StudyFamily, study: &Study, place: &Place) -> u64 {
    family.table.at.unwrap_or(study.arms[place.arm as usize].updates)
}

/// The sample of a contrast: every place that it reads, with its unit.
pub fn sample(study: &Study, plan: &Plan, family: &StudyFamily, contrast: &Contrast) -> Sample {
    let cells = contrast.cells();
    let mut sample = Sample::default();
    for place in plan.places.iter().filter(|place| is_of(family, study, place)) {
        let (cell, _) = study.cell(place);
        if cells.iter().any(|name| cell.is_meant_by(name)) {
            let update = point(family, study, place);
            let point = match &family.table.quantity {
                Some(quantity) => format!("update {update}: {quantity}"),
                None => format!("update {update}"),
            };
            let grid = &study.grids[study.arms[place.arm as usize].grid];
            let source = grid.source_name(place.source as usize);
            sample.insert(cell.to_string(), point, source, plan.units[place.unit as usize].id);
        }
    }
    sample
}
