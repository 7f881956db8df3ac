//! Linear probes: how much of a true quantity can be read off what each layer stored.
//!
//! **The procedure.** Ridge regression with an intercept from one tap to another, on the fixed
//! panel. Five outer folds hold out whole trajectories; within the other four fifths, five inner
//! folds, again of whole trajectories, choose among [`STRENGTHS`] by their mean R^2; the choice is
//! refitted on all four fifths and scored on the held-out fifth. Reported is the mean of the five
//! held-out R^2, each averaged over the target's columns with equal weight.
//!
//! **Choices that the paper leaves open.** Inputs are standardised with the mean and (population)
//! standard deviation of the rows that the ridge is fitted on, so one list of strengths serves
//! tokens and representations of any scale; a column that is constant there is left out. The target
//! is centred, not scaled. A strength is what scikit-learn's `Ridge` calls `alpha`: it stands
//! beside a sum over rows. Folds are fixed for a number of trajectories and the same for every
//! model ([`Folds::fixed`]).
//!
//! **One design decision.** Nothing is refitted from rows. Twenty-five cells (outer fold, inner
//! fold) each hold the sums of products of their rows, in `f64`; every training and test set of the
//! nested procedure is a sum of cells, and every fit one small Cholesky factorisation.

mod cells;
mod folds;
mod gather;
mod ridge;

pub use folds::{FOLDS, Folds};
pub use gather::{Inputs, Samples, gather};
pub use ridge::{STRENGTHS, Score, score};

use backcut_engine::Program;

use crate::measure::define::{Definition, define};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::subject::Subject;

/// What its quantities are.
pub const DEFINITIONS: &[Definition] = &[
    define(
        "probe",
        "probe.r2",
        "R^2 of ridge from a tap to the true quantity, held-out trajectories, 5 x 5 nested folds, \
         8 strengths; on the policy's own inputs",
    ),
    define(
        "probe",
        "probe.r2_common",
        "the same with the reference's observations fed to the policy",
    ),
];

/// What is probed for what.
#[derive(Clone, PartialEq, Debug)]
pub struct ProbeOptions {
    /// The tap of the true quantity.
    pub target: String,
    /// The tap of the observation: probed itself, and what a reference feeds to the policy.
    pub token: String,
    /// Taps whose name ends so are a layer's stored representation.
    pub stored: String,
}

impl Default for ProbeOptions {
    /// The quadrotor's: the true velocity.
    fn default() -> Self {
        let [target, token, stored] = ["true_velocity", "token", ".stored"].map(str::to_owned);
        Self { target, token, stored }
    }
}

impl ProbeOptions {
    /// Something that ends as `stored` says must be there, for whoever asked for it.
    pub fn check(&self, program: &Program) -> Result<(), MeasureError> {
        let names = program.tap_names();
        if names.iter().any(|name| name.ends_with(&self.stored)) {
            return Ok(());
        }
        let known = names.join(", ");
        Err(MeasureError::Unfit(format!("no name ends in `{}`; known: {known}", self.stored)))
    }
}

/// Probes the token and every layer; on the reference's observations if there is one.
pub fn probe(
    subject: &Subject,
    reference: Option<&Subject>,
    options: &ProbeOptions,
) -> Result<Vec<Finding>, MeasureError> {
    let program = subject.system.program();
    let is_stored = |name: &&str| name.ends_with(&options.stored);
    let mut taps = vec![options.token.clone()];
    taps.extend(program.tap_names().into_iter().filter(is_stored).map(str::to_owned));
    let inputs = Inputs { reference, token: &options.token };
    let names: Vec<&str> = taps.iter().chain([&options.target]).map(String::as_str).collect();
    let mut samples = gather(subject, &inputs, &names)?;
    let target = samples.pop().ok_or_else(|| MeasureError::Unfit("nothing to probe".into()))?;
    let folds = Folds::fixed(target.trajectories)?;
    let quantity = if reference.is_some() { "probe.r2_common" } else { "probe.r2" };
    let mut findings = Vec::new();
    for (tap, inputs) in taps.iter().zip(&samples) {
        findings.push(match score(inputs, &target, &folds)? {
            Ok(score) => {
                let chosen: Vec<String> =
                    score.strengths.iter().map(|s| format!("{s:e}")).collect();
                let mut finding = Finding::new(quantity, "", tap, score.r2);
                finding.note = format!("strengths {}", chosen.join(" "));
                finding
            }
            Err(why) => Finding::undefined(quantity, "", tap, &why),
        });
    }
    Ok(findings)
}
