//! Whether the losses of a rollout pull the same way.
//!
//! The seed of a loss is `g_t = dl_t/ds_t`, what the loss of step `t` says of the state the step
//! started from, with memory detached (`s_t` acts through its own token and action). In the
//! system's units (`D_t^-1 g_t`) the resultant is `|sum of seeds| / sum of |seeds|`: 1 when all are
//! aligned, 0 when they cancel. It is taken per trajectory; the median over the batch is reported.

use backcut_engine::StateJacobians;
use backcut_kernels::Real;
use backcut_stats::quantile::quantiles;

use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::groups::ALL;
use crate::measure::rig::Rig;

/// The seed resultant at the batch that the rig has rolled.
pub fn seed_resultant<R: Real>(rig: &Rig<R>) -> Result<Finding, MeasureError> {
    const QUANTITY: &str = "seed.resultant";
    let rollout = rig.rollout();
    if rollout.program().states().is_empty() {
        return Ok(Finding::undefined(QUANTITY, "", ALL, "the program has no physical state"));
    }
    let jacobians = StateJacobians::new(rig.model(), rollout)?;
    let mut scales = vec![1.0; jacobians.dim];
    let mut resultants = Vec::with_capacity(rollout.rows());
    for row in 0..rollout.rows() {
        let mut sum = vec![0.0; jacobians.dim];
        let mut lengths = 0.0;
        for t in rollout.spec().prefix..rollout.steps() {
            rig.system().state_scales(rollout, t, row, &mut scales);
            let mut square = 0.0;
            for ((sum, g), scale) in sum.iter_mut().zip(jacobians.loss_at(t, row)).zip(&scales) {
                let seed = g.to_f64() / scale;
                *sum += seed;
                square += seed * seed;
            }
            lengths += square.sqrt();
        }
        if lengths > 0.0 {
            resultants.push(sum.iter().map(|s| s * s).sum::<f64>().sqrt() / lengths);
        }
    }
    let without = rollout.rows() - resultants.len();
    if resultants.is_empty() {
        return Ok(Finding::undefined(QUANTITY, "", ALL, "every seed is zero"));
    }
    let median = quantiles(&mut resultants, &[0.5])[0];
    let mut finding = Finding::new(QUANTITY, "", ALL, median);
    if without > 0 {
        finding.note = format!("{without} trajectories without seeds are left out");
    }
    Ok(finding)
}
