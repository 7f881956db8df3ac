//! How strongly the parameters move an action: Frobenius norms of `da_t/dtheta`, memory detached.
//!
//! One lane per entry of the action and trajectory, seeded at one step; credit is cut at states and
//! at memory, so what remains is the step's own derivative. Five steps from the first to the last
//! show whether it drifts along the rollout.

use backcut_engine::{Cut, MemoryCredit, Seeds, StateCredit, Workspace};
use backcut_kernels::{Real, reduce};
use backcut_stats::quantile::quantiles;

use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::groups::ALL;
use crate::measure::rig::Rig;

/// The tap that systems give their action.
const ACTION: &str = "action";
const QUANTITY: &str = "vjp.norm";
/// Steps at which it is measured.
const STEPS: usize = 5;
/// Trajectories of the batch that are looked at.
const ROWS: usize = 4;

/// Norms of the action's derivative at the batch that the rig has rolled.
pub fn action_norms<R: Real>(rig: &Rig<R>) -> Result<Vec<Finding>, MeasureError> {
    let (model, rollout) = (rig.model(), rig.rollout());
    let program = rollout.program();
    let Some(site) = program.tap(ACTION) else {
        let why = "the system taps no value named `action`";
        return Ok(vec![Finding::undefined(QUANTITY, "", ALL, why)]);
    };
    let state = if program.states().is_empty() { StateCredit::Full } else { Cut::KD.state };
    let memory = if program.has_memory() { MemoryCredit::Projected } else { MemoryCredit::Full };
    let width = program.width(site);
    let (all_rows, rows) = (rollout.rows(), rollout.rows().min(ROWS));
    let lanes = rows * width;
    let mut workspace = Workspace::for_seeds(rollout, &vec![Cut::new(state, memory); lanes])?;
    let zeros = vec![R::ZERO; rollout.steps() * all_rows * width];
    let seed = || Seeds { loss: R::ZERO, taps: vec![(ACTION.to_owned(), zeros.clone())] };
    let mut seeds: Vec<Seeds<R>> = (0..lanes).map(|_| seed()).collect();
    let mut findings = Vec::new();
    for t in spread_steps(rollout.spec().prefix, rollout.steps()) {
        let entry = |lane: usize| (t * all_rows + lane / width) * width + lane % width;
        for (lane, seeds) in seeds.iter_mut().enumerate() {
            seeds.taps[0].1[entry(lane)] = R::ONE;
        }
        workspace.backward_seeded(model, rollout, &seeds)?;
        for (lane, seeds) in seeds.iter_mut().enumerate() {
            seeds.taps[0].1[entry(lane)] = R::ZERO;
        }
        let square = |lane: usize| reduce::norm_squared(workspace.gradient(lane));
        let mut norms: Vec<f64> = (0..rows)
            .map(|row| (row * width..(row + 1) * width).map(square).sum::<f64>().sqrt())
            .collect();
        let median = quantiles(&mut norms, &[0.5])[0];
        let mut finding = Finding::new(QUANTITY, "", format!("t={t}"), median);
        if rows < all_rows {
            finding.note = format!("{rows} of {all_rows} trajectories");
        }
        findings.push(finding);
    }
    Ok(findings)
}

/// Up to five steps, evenly from the first predicted to the last.
fn spread_steps(first: usize, end: usize) -> Vec<usize> {
    let last = end.saturating_sub(1).max(first);
    let mut steps: Vec<usize> =
        (0..STEPS).map(|i| first + (last - first) * i / (STEPS - 1)).collect();
    steps.dedup();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_spread_from_the_first_to_the_last() {
        assert_eq!(spread_steps(0, 32), [0, 7, 15, 23, 31]);
        assert_eq!(spread_steps(16, 304), [16, 87, 159, 231, 303]);
        assert_eq!(spread_steps(0, 1), [0]);
        assert_eq!(spread_steps(2, 4), [2, 3]);
    }
}
