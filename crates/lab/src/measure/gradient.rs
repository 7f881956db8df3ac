//! The gradient layer: what a cut does to the gradient, before any optimizer.
//!
//! Every cut is compared with FF, and a cut that detaches memory under limited physical credit also
//! with the cut of its own credit that keeps memory (`KD vs KF`). Beside lengths and directions stand
//! the paths behind them: contributions by age, the resultant of the losses' own gradients, and how
//! strongly an action moves the parameters.

use backcut_engine::{Cut, StateCredit};
use backcut_kernels::Real;
use backcut_systems::BatchKey;

use crate::measure::ages::ages;
use crate::measure::finding::Finding;
use crate::measure::geometry::{Geometry, part_names};
use crate::measure::gradient_seeds::seed_resultant;
use crate::measure::gradient_vjp::action_norms;
use crate::measure::groups::ALL;
use crate::measure::measurement::MeasureError;
use crate::measure::rig::Rig;
use crate::measure::subject::Subject;
use crate::measure::summary::summarise;

/// How much of the gradient layer to measure.
#[derive(Clone, PartialEq, Debug)]
pub struct GradientOptions {
    /// Batches: the next one and those after it, at the same parameters. More than one gives medians.
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
    let mut findings = vec![Finding::new("gradient.loss", "", ALL, rig.loss())];
    for (index, cut) in rig.cuts().iter().enumerate() {
        report(&mut findings, rig, index, 0, &cut.to_string());
    }
    for &(index, kept) in &rig.plan().retained {
        let name = format!("{} vs {}", rig.cuts()[index], rig.cuts()[kept]);
        report(&mut findings, rig, index, kept, &name);
    }
    findings
}

fn report<R: Real>(
    findings: &mut Vec<Finding>,
    rig: &Rig<R>,
    index: usize,
    reference: usize,
    name: &str,
) {
    let raw = rig.compared_gradients();
    let mut compared = raw.groups(index, reference);
    let mut whole = Geometry::sum(&compared);
    // The global norm is one sum in the layout's order: the number that training logs and clips by.
    (whole.square, whole.reference) = (raw.square(index), raw.square(reference));
    compared.push(whole);
    for (part, geometry) in part_names(rig.groups()).zip(compared) {
        findings.extend(geometry.report("gradient", name, part, rig.cuts()[reference]));
    }
}
