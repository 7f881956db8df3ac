//! History masking at evaluation: the same parameters, a shorter memory.
//!
//! Masking only hides: what a policy trained with a window does not read stays hidden, so a window
//! at least as long as the trained one changes nothing, bit by bit.

use std::num::NonZeroUsize;

use backcut_engine::{ForwardError, ForwardSpec, Mask, MemoryReads};

use super::{found, mean_relative};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::panel;
use crate::measure::subject::Subject;

/// Errors of the panel with windows of `windows` positions, the current one included, against the
/// forward as trained.
pub fn masking(subject: &Subject, windows: &[usize]) -> Result<Vec<Finding>, MeasureError> {
    let (system, model) = (subject.system, panel::model(subject)?);
    let base = panel::evaluate(subject, &model, &system.spec())?;
    let mut findings = vec![Finding::new("panel.error", "", "all", base.mean)];
    for &window in windows {
        let part = format!("w={window}");
        let spec = hide(system.spec(), window, system.steps())?;
        let masked = match panel::evaluate(subject, &model, &spec) {
            Ok(masked) => masked,
            // A policy that cannot fly without its memory is a result, not a failure to measure.
            Err(MeasureError::Panel(error)) => {
                for quantity in ["masking.error", "masking.change", "masking.relative"] {
                    findings.push(Finding::undefined(quantity, "", &part, &error.to_string()));
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        findings.push(Finding::new("masking.error", "", &part, masked.mean));
        findings.push(Finding::new("masking.change", "", &part, masked.mean - base.mean));
        let relative = mean_relative(&base.errors, &masked.errors);
        findings.push(found("masking.relative", &part, relative));
    }
    Ok(findings)
}

/// A forward that reads what it read before, and of that only the last `window` positions.
fn hide(
    spec: ForwardSpec<f32>,
    window: usize,
    steps: usize,
) -> Result<ForwardSpec<f32>, ForwardError> {
    let window = NonZeroUsize::new(window).ok_or(ForwardError::EmptyWindow)?;
    let reads = match &spec.reads {
        MemoryReads::All => MemoryReads::Window(window),
        MemoryReads::Window(trained) => MemoryReads::Window(window.min(*trained)),
        mask @ MemoryReads::Mask(_) => {
            let visible = |t, j| mask.shows(t, j) && t - j < window.get();
            MemoryReads::Mask(Mask::new(steps, visible))
        }
    };
    Ok(ForwardSpec { reads, ..spec })
}
