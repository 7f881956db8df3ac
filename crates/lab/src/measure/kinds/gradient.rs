//! The gradient layer: what a cut does to the gradient, before any optimizer.
//!
//! Every cut is compared with FF, and a cut that detaches memory under limited physical credit also
//! with the cut of its own credit that keeps memory (`KD vs KF`). Beside lengths and directions
//! stand the paths behind them: contributions by age, the resultant of the losses' own gradients,
//! and how strongly an action moves the parameters.

use backcut_engine::{Cut, StateCredit};
use backcut_kernels::Real;
use backcut_systems::BatchKey;

use crate::measure::arms::Asked;
use crate::measure::define::{Definition, define};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::groups::ALL;
use crate::measure::kinds::ages::ages;
use crate::measure::kinds::gradient_seeds::seed_resultant;
use crate::measure::kinds::gradient_vjp::action_norms;
use crate::measure::rig::Rig;
use crate::measure::subject::Subject;
use crate::measure::summary::summarise;

/// What its quantities are.
pub(crate) const DEFINITIONS: &[Definition] = &[
    define(
        "gradient",
        "gradient.loss",
        "the loss of the batch, summed over trajectories and steps",
    ),
    define(
        "gradient",
        "gradient.norm",
        "|g|, the Euclidean norm of the cut's gradient (of a group: of its entries)",
    ),
    define(
        "gradient",
        "gradient.ratio",
        "|g| / |g_ref|; the reference is FF, or the cut after `vs`",
    ),
    define("gradient", "gradient.difference", "|g - g_ref| / |g_ref|"),
    define("gradient", "gradient.cosine", "g . g_ref / (|g| |g_ref|)"),
    define(
        "gradient",
        "age.norm",
        "norm of the contributions whose age (steps between loss and action) lies in the bin; \
         memory-detached cuts only",
    ),
    define(
        "gradient",
        "age.reach",
        "norm of the sum of all contributions up to this age: the gradient against backward \
         distance",
    ),
    define(
        "gradient",
        "age.cancellation",
        "1 - |sum of the bins' vectors| / sum of their norms; 0 when all point one way",
    ),
    define(
        "gradient",
        "age.rest",
        "|sum of the bins - g| / |g|: rounding, as a check of the decomposition",
    ),
    define(
        "gradient",
        "seed.resultant",
        "|sum_t g_t| / sum_t |g_t| with g_t = D^-1 dl_t/ds_t, memory detached; median over \
         trajectories",
    ),
    define(
        "gradient",
        "vjp.norm",
        "Frobenius norm of da_t/dtheta of one step, memory detached; median over trajectories",
    ),
];

/// How much of the gradient layer to measure.
#[derive(Clone, PartialEq, Debug)]
pub struct GradientOptions {
    /// Batches: the next one and those after it, at the same parameters. More than one gives
    /// medians.
    pub windows: usize,
    /// Cuts whose gradients are split by age; an error if one of them keeps memory.
    pub ages: Vec<Cut>,
    /// The resultant of the losses' gradients and the norms of actions' derivatives.
    pub paths: bool,
}

impl GradientOptions {
    /// One batch, everything, and ages for every cut under which they are defined and not trivial.
    pub fn for_cuts(cuts: &[Cut]) -> Self {
        let has_ages = |c: &&Cut| c.is_detached() && c.state == StateCredit::Full;
        Self { windows: 1, ages: cuts.iter().filter(has_ages).copied().collect(), paths: true }
    }
}

/// Measures the gradient layer at a subject.
pub fn gradient(
    rig: &mut Rig<f32>,
    subject: &Subject,
    options: &GradientOptions,
) -> Result<Vec<Finding>, MeasureError> {
    rig.set(&subject.state.params)?;
    let mut lists = Vec::with_capacity(options.windows.max(1));
    for key in windows(subject.key, options.windows) {
        rig.differentiate(key)?;
        let mut findings = geometry_of_gradients(rig);
        for cut in &options.ages {
            findings.extend(ages(rig, *cut)?);
        }
        if options.paths {
            findings.push(seed_resultant(rig)?);
            findings.extend(action_norms(rig)?);
        }
        lists.push(findings);
    }
    Ok(summarise(&lists, "windows"))
}

/// The batch of the next update and those after it.
pub(crate) fn windows(key: BatchKey, count: usize) -> impl Iterator<Item = BatchKey> {
    (0..count.max(1) as u64).map(move |i| BatchKey { update: key.update + i, ..key })
}

/// Lengths and directions of all gradients that a rig holds, whole and by group.
pub fn geometry_of_gradients<R: Real>(rig: &Rig<R>) -> Vec<Finding> {
    let asked = Asked { question: rig.question(), groups: rig.groups(), plan: rig.plan() };
    let mut findings = vec![Finding::new("gradient.loss", "", ALL, rig.loss())];
    findings.extend(asked.gradients(rig.compared_gradients()));
    findings
}
