//! Panel errors beside those of a plain prediction.

use crate::training::Panel;

use crate::measure::define::{Definition, define};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::groups::ALL;
use crate::measure::panel;
use crate::measure::subject::Subject;

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
        "reference.step",
        "mean error of the policy after the step that the part names",
    ),
    define(
        "reference",
        "reference.plain-step",
        "mean error of the plain prediction after the step that the part names",
    ),
    define(
        "reference",
        "reference.safeguarded",
        "steps of the panel at which a safeguard changed the forward (a vessel held off a pole)",
    ),
];

/// The mean errors of policy and plain prediction, their ratio, and on how much of the panel the
/// policy is better.
pub fn reference(subject: &Subject) -> Result<Vec<Finding>, MeasureError> {
    let Some(reference) = subject.system.reference()? else {
        let what = "the system has no plain prediction to be compared with";
        return Err(MeasureError::Unfit(what.to_owned()));
    };
    let model = panel::model(subject)?;
    let rows = subject.system.panel_rows();
    let (mut errors, mut safeguarded) = (vec![0.0; rows], 0);
    let mut steps = vec![0.0; reference.steps.len()];
    panel::visit(subject, &model, &subject.system.spec(), |first, rollout| {
        subject.system.row_errors(rollout, &mut errors[first..first + rollout.rows()]);
        safeguarded += subject.system.safeguarded(rollout);
        for row in 0..rollout.rows() {
            let errors = subject.system.step_errors(rollout, row);
            steps.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error);
        }
    })?;
    let ours = Panel::new(errors);
    let theirs = Panel::new(reference.errors);
    let better = ours.errors.iter().zip(&theirs.errors).filter(|(ours, theirs)| ours < theirs);
    let share = better.count() as f64 / ours.errors.len() as f64;
    let mut findings = vec![
        Finding::new("reference.policy", "", ALL, ours.mean),
        Finding::new("reference.error", "", reference.name, theirs.mean),
        Finding::new("reference.ratio", "", reference.name, ours.mean / theirs.mean),
        Finding::new("reference.better", "", reference.name, share),
        Finding::new("reference.safeguarded", "", ALL, safeguarded as f64),
    ];
    for step in shown(steps.len()) {
        let part = format!("step {step}");
        let mean = steps[step - 1] / rows as f64;
        findings.push(Finding::new("reference.step", "", &part, mean));
        findings.push(Finding::new("reference.plain-step", "", part, reference.steps[step - 1]));
    }
    Ok(findings)
}

/// How many steps of a horizon are shown.
const SHOWN: usize = 24;

/// Steps evenly spread over a horizon, the last one among them.
fn shown(steps: usize) -> impl Iterator<Item = usize> {
    let count = SHOWN.min(steps);
    (1..=count).map(move |i| i * steps / count)
}
