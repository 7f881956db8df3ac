//! The donor-cache intervention: another trajectory's history in place of one's own.
//!
//! At every step the recipient reads what the donor, unperturbed, had stored before that step; its
//! own token and physical state are not replaced and evolve freely. Donors are a derangement of the
//! panel that is the same for every model and condition. The cost is not the value of memory: a
//! foreign history is also one that the recipient never meets.

use std::sync::Arc;

use crate::training::Panel;
use backcut_engine::{Donor, ForwardSpec};
use backcut_kernels::random::Stream;

use super::{found, mean_relative};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::panel;
use crate::measure::subject::Subject;

/// Seed and name of the stream that the derangement is drawn from.
const DERANGEMENT: (u64, &str) = (0, "measure/donor");

/// What findings call it.
const PART: &str = "derangement";

/// The recorded derangement of a panel: row `i` reads the history of row `panel_derangement(n)[i]`.
/// `None` for a panel of one trajectory, which has no other.
pub fn panel_derangement(rows: usize) -> Option<Vec<usize>> {
    let (seed, name) = DERANGEMENT;
    Stream::new(seed, name).at(0, 0).derangement(rows)
}

/// The intervention with the recorded derangement, in some memories or (if none is named) in all.
pub fn donor(subject: &Subject, memories: &[String]) -> Result<Vec<Finding>, MeasureError> {
    let rows = subject.system.panel_rows();
    let donors = panel_derangement(rows).ok_or_else(|| {
        MeasureError::Unfit(format!("a panel of {rows} trajectory has no donors"))
    })?;
    let (seed, name) = DERANGEMENT;
    let mut findings = donor_with(subject, &donors, memories)?;
    for finding in findings.iter_mut().filter(|f| f.note.is_empty() && f.part.starts_with(PART)) {
        finding.note = format!("stream `{name}`, seed {seed}, {rows} trajectories");
    }
    Ok(findings)
}

/// The intervention with chosen donors, a permutation of the panel's rows.
pub fn donor_with(
    subject: &Subject,
    donors: &[usize],
    memories: &[String],
) -> Result<Vec<Finding>, MeasureError> {
    let (system, model) = (subject.system, panel::model(subject)?);
    let rows = system.panel_rows();
    let mut seen = vec![false; rows];
    donors.iter().filter(|&&d| d < rows).for_each(|&d| seen[d] = true);
    if donors.len() != rows || seen.contains(&false) {
        let what = format!("{} donors are no permutation of the {rows} trajectories", donors.len());
        return Err(MeasureError::Unfit(what));
    }
    if !system.program().has_memory() {
        return Err(MeasureError::Unfit("the program has no memory to replace".to_owned()));
    }
    // Every trajectory is a donor once, so the donors' own errors are the unperturbed evaluation.
    let (mut base, mut changed) = (vec![0.0; rows], vec![0.0; rows]);
    let mut failure = None;
    for (first, count) in panel::groups(system) {
        let own = &donors[first..first + count];
        let rollout = panel::roll_rows(subject, &model, own)?;
        let mut errors = vec![0.0; count];
        system.row_errors(&rollout, &mut errors);
        own.iter().zip(&errors).for_each(|(&row, &error)| base[row] = error);
        let history = Donor {
            rollout: Arc::new(rollout),
            rows: (0..count).collect(),
            memories: memories.to_vec(),
        };
        let spec = ForwardSpec { donor: Some(history), ..system.spec() };
        match panel::roll_group(subject, &model, (first, count), spec) {
            Ok(rollout) => system.row_errors(&rollout, &mut changed[first..first + count]),
            Err(MeasureError::Panel(error)) => {
                failure.get_or_insert(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    let base = Panel::new(base);
    let part = match memories {
        [] => PART.to_owned(),
        named => format!("{PART}: {}", named.join(" ")),
    };
    let mut findings = vec![Finding::new("panel.error", "", "all", base.mean)];
    let quantities = ["donor.error", "donor.cost", "donor.relative"];
    let values = if let Some(why) = failure {
        quantities.map(|_| Err(why.clone()))
    } else {
        let changed = Panel::new(changed);
        let relative = mean_relative(&base.errors, &changed.errors);
        [Ok(changed.mean), Ok(changed.mean - base.mean), relative]
    };
    for (quantity, value) in quantities.into_iter().zip(values) {
        findings.push(found(quantity, &part, value));
    }
    Ok(findings)
}
