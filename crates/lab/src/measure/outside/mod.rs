//! Gradients made elsewhere: parameters, gradients under freely named arms, and what an optimizer
//! makes of them, compared as the gradients of cuts are.
//!
//! | file | holds |
//! | --- | --- |
//! | `described` | what a comparison knows before it looks at a number |
//! | `file`, `tensors`, `header` | vectors in a safetensors file |
//!
//! **One design decision.** The comparison is the one that serves the cuts of a rig (`arms`): the
//! same numbers give the same bits, wherever they lie.

mod described;
mod file;
mod header;
mod tensors;
#[cfg(test)]
mod tests;

pub use crate::measure::source::{InMemory, OutsideError, Source, Vector};
pub use backcut_systems::Rule;
pub use described::{Described, GroupRule, Optimizing, group};
pub use file::{FORMAT, GradientFile, Opened, open};
pub use header::{tagged, untagged};

use backcut_kernels::Real;

use crate::measure::arms::{Asked, compare_raw};
use crate::measure::comparison::{Plan, Question};
use crate::measure::define::{Definition, define};
use crate::measure::finding::Finding;
use crate::measure::groups::Group;
use crate::measure::layers::Layer;
use crate::measure::median::Medians;

/// What gradients made elsewhere have beside the quantities of `gradient` and `update`.
pub(crate) const DEFINITIONS: &[Definition] = &[
    define(
        "gradients",
        "raw.effect",
        "|g_a - g_b| / |g_ref|, and |g_c - g_d| / |g_ref|, of --factorial a,b,c,d",
    ),
    define("gradients", "clipped.effect", "as raw.effect, of clipped gradients"),
    define("gradients", "applied.effect", "|U_a - U_b| / |U_ref|, and |U_c - U_d| / |U_ref|"),
    define("gradients", "unclipped.effect", "as applied.effect, unclipped into clipped history"),
];

/// What a comparison finds: the gradients against the first arm's, and, with an optimizer, the
/// layers of the update as `measure update` has them.
pub fn compare<R: Real>(
    described: &Described,
    groups: &[Group],
    source: &mut dyn Source<R>,
) -> Result<Vec<Finding>, OutsideError> {
    described.check()?;
    let question = Question::of_arms(&described.arms, described.factorial);
    let plan = Plan::new(groups, &question);
    let asked = Asked { question: &question, groups, plan: &plan };
    let raw = compare_raw(&plan, source)?;
    let mut findings = asked.gradients(&raw);
    findings.extend(match &described.optimizer {
        None => asked.effects(Layer::Raw, &raw),
        Some(optimizer) => {
            let step = optimizer.next(described.len());
            asked.updates(&step, &raw, Some(&mut Medians::default()), source)?
        }
    });
    Ok(findings)
}
