//! Panel errors beside those of a plain prediction.

use backcut_training::Panel;

use crate::define::{Definition, define};
use crate::finding::Finding;
use crate::groups::ALL;
use crate::measurement::MeasureError;
use crate::panel;
use crate::subject::Subject;

pub const DEFINITIONS: &[Definition] = &[
    define("reference", "reference.policy", "mean error of the policy on the panel"),
    define("reference", "reference.error", "mean error of the plain prediction on the panel"),
    define("reference", "reference.ratio", "mean error of the policy / that of the prediction"),
    define(
        "reference",
        "reference.better",
        "share of the panel's trajectories on which the policy's error is the smaller one",
    ),
    define(
        "reference",
        "reference.safeguarded",
        "steps of the panel at which a safeguard changed the forward (a vessel held off a pole)",
    ),
];

/// The mean errors of policy and plain prediction, their ratio, and on how much of the panel the policy is
/// better.
pub fn reference(subject: &Subject) -> Result<Vec<Finding>, MeasureError> {
    let Some(reference) = subject.system.reference()? else {
        let what = "the system has no plain prediction to be compared with";
        return Err(MeasureError::Unfit(what.to_owned()));
    };
    let model = panel::model(subject)?;
    let (mut errors, mut safeguarded) = (vec![0.0; subject.system.panel_rows()], 0);
    panel::visit(subject, &model, &subject.system.spec(), |first, rollout| {
        subject.system.row_errors(rollout, &mut errors[first..first + rollout.rows()]);
        safeguarded += subject.system.safeguarded(rollout);
    })?;
    let ours = Panel::new(errors);
    let theirs = Panel::new(reference.errors);
    let better = ours.errors.iter().zip(&theirs.errors).filter(|(ours, theirs)| ours < theirs);
    let share = better.count() as f64 / ours.errors.len() as f64;
    Ok(vec![
        Finding::new("reference.policy", "", ALL, ours.mean),
        Finding::new("reference.error", "", reference.name, theirs.mean),
        Finding::new("reference.ratio", "", reference.name, ours.mean / theirs.mean),
        Finding::new("reference.better", "", reference.name, share),
        Finding::new("reference.safeguarded", "", ALL, safeguarded as f64),
    ])
}
