//! The update layer: what the optimizer makes of the cuts' gradients at a complete state.
//!
//! Differences between cuts are followed from the raw gradient through the clip of its global norm
//! to the update that is really applied. A single step says what a cut would do *at the moment of
//! switching*: the moments were built under the cut that trained the state.

use crate::training::{Optimizer, State};
use backcut_kernels::Real;

use crate::measure::arms::Asked;
use crate::measure::define::{Definition, define};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::kinds::gradient::windows;
use crate::measure::layers::Step;
use crate::measure::rig::Rig;
use crate::measure::source::InMemory;
use crate::measure::subject::Subject;
use crate::measure::summary::summarise;

/// What its quantities are.
pub(crate) const DEFINITIONS: &[Definition] = &[
    define(
        "update",
        "clip.factor",
        "kappa = min(1, c / |g|), c the threshold of the global-norm clip",
    ),
    define("update", "raw.norm", "|g|, the norm of the raw gradient"),
    define("update", "raw.ratio", "|g| / |g_FF|"),
    define("update", "raw.difference", "|g - g_FF| / |g_FF|"),
    define("update", "raw.cosine", "g . g_FF / (|g| |g_FF|)"),
    define("update", "raw.memory-effect", "|g_FF - g_FD| / |g_FF|, or |g_KF - g_KD| / |g_FF|"),
    define("update", "raw.interaction", "|g_FF - g_FD - g_KF + g_KD| / |g_FF|"),
    define(
        "update",
        "raw.placement",
        "|g_F_SG - g_FD| / |g_FD| (K_SG and KD alike), each over the part's entries",
    ),
    define("update", "raw.placement-share", "the group's share of |g_F_SG - g_FD|^2"),
    define("update", "clipped.norm", "|kappa g|, each cut's gradient under its own factor"),
    define("update", "clipped.ratio", "as raw.ratio, of clipped gradients"),
    define("update", "clipped.difference", "as raw.difference, of clipped gradients"),
    define("update", "clipped.cosine", "as raw.cosine, of clipped gradients"),
    define("update", "clipped.memory-effect", "as raw.memory-effect, of clipped gradients"),
    define("update", "clipped.interaction", "as raw.interaction, of clipped gradients"),
    define("update", "clipped.placement", "as raw.placement, of clipped gradients"),
    define("update", "clipped.placement-share", "as raw.placement-share, of clipped gradients"),
    define(
        "update",
        "applied.norm",
        "|U|, U = theta' - theta as clip, optimizer and weight decay really make it from this \
         state",
    ),
    define("update", "applied.ratio", "|U| / |U_FF|"),
    define("update", "applied.difference", "|U - U_FF| / |U_FF|; for the whole it is d_U"),
    define("update", "applied.cosine", "U . U_FF / (|U| |U_FF|)"),
    define("update", "applied.memory-effect", "|U_FF - U_FD| / |U_FF|, or |U_KF - U_KD| / |U_FF|"),
    define("update", "applied.interaction", "|U_FF - U_FD - U_KF + U_KD| / |U_FF|"),
    define(
        "update",
        "applied.placement",
        "|U_F_SG - U_FD| / |U_FD| (K_SG and KD alike), each over the part's entries",
    ),
    define("update", "applied.placement-share", "the group's share of |U_F_SG - U_FD|^2"),
    define(
        "update",
        "applied.sign-cosine",
        "cosine with sign(g) of the direction after the step: mhat / (sqrt(vhat) + eps) of Adam \
         and AdamW, the velocity of SGD; g with its weight decay where that is added to it",
    ),
    define(
        "update",
        "applied.saturated",
        "share of weights whose |mhat| / sqrt(vhat) after the step is above 0.9 of the limit of a \
         gradient that dominates both moments",
    ),
    define(
        "update",
        "unclipped.norm",
        "norm of the update if this one gradient were not clipped; moments from clipped history, \
         so not training without clipping",
    ),
    define("update", "unclipped.ratio", "as applied.ratio, unclipped into clipped history"),
    define(
        "update",
        "unclipped.difference",
        "as applied.difference, unclipped into clipped history",
    ),
    define("update", "unclipped.cosine", "as applied.cosine, unclipped into clipped history"),
    define(
        "update",
        "unclipped.memory-effect",
        "as applied.memory-effect, unclipped into clipped history",
    ),
    define(
        "update",
        "unclipped.interaction",
        "as applied.interaction, unclipped into clipped history",
    ),
    define("update", "unclipped.placement", "as applied.placement, unclipped into clipped history"),
    define(
        "update",
        "unclipped.placement-share",
        "as applied.placement-share, unclipped into clipped history",
    ),
    define(
        "update",
        "unclipped.sign-cosine",
        "as applied.sign-cosine, unclipped into clipped history",
    ),
    define("update", "unclipped.saturated", "as applied.saturated, unclipped into clipped history"),
    define("update", "r_U", "|U| / |g|: the applied update's norm per raw gradient norm"),
    define("update", "d_U", "|U - U_FF| / |U_FF|"),
    define(
        "update",
        "moment.scale",
        "median over the part's weights of sqrt(vhat), the bias-corrected second moment before the \
         update",
    ),
    define(
        "update",
        "moment.cosine",
        "cosine of g / (sqrt(vhat) + eps) with g_FF scaled alike, vhat before the update; weights \
         whose history is all but zero (b_K under FF) rule the whole",
    ),
    define(
        "update",
        "rho.median",
        "median over the part's weights of rho = |kappa g| / (sqrt(vhat) + eps), vhat before the \
         update; undefined at update 1",
    ),
    define("update", "rho.above-one", "share of the part's weights with rho > 1"),
    define(
        "update",
        "added.ratio",
        "median of |kappa (g_F_SG - g_FD)| / (sqrt(vhat) + eps), kappa of F_SG; w_k and w_v pool \
         the blocks",
    ),
    define(
        "update",
        "placement.spearman",
        "Spearman correlation over states of applied.placement with added.ratio of w_v; \
         descriptive",
    ),
];

/// How much of the update layer to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdateOptions {
    /// Batches: the next one and those after it, each applied to the same state.
    pub windows: usize,
    /// Gradients against the second moment's scale: rho, sign cosine, saturation. They cost several
    /// medians over all weights per cut.
    pub scales: bool,
}

impl Default for UpdateOptions {
    fn default() -> Self {
        Self { windows: 1, scales: true }
    }
}

/// Measures the update layer at a subject.
pub fn update(
    rig: &mut Rig<f32>,
    subject: &Subject,
    options: &UpdateOptions,
) -> Result<Vec<Finding>, MeasureError> {
    rig.set(&subject.state.params)?;
    let mut lists = Vec::with_capacity(options.windows.max(1));
    for key in windows(subject.key, options.windows) {
        rig.differentiate(key)?;
        lists.push(updates_of_gradients(rig, subject.state, subject.optimizer, options.scales)?);
    }
    Ok(summarise(&lists, "windows"))
}

/// The update layer for the gradients that a rig holds.
pub fn updates_of_gradients<R: Real>(
    rig: &mut Rig<R>,
    state: &State<R>,
    optimizer: &Optimizer,
    scales: bool,
) -> Result<Vec<Finding>, MeasureError> {
    rig.check_state(state)?;
    let step = Step::new(optimizer, rig.layout(), state)?;
    let mut medians = std::mem::take(rig.medians());
    let State { params, moments, .. } = state;
    let mut source = InMemory {
        parameters: params,
        first: &moments.first,
        second: &moments.second,
        gradients: rig.gradients(),
    };
    let asked = Asked { question: rig.question(), groups: rig.groups(), plan: rig.plan() };
    let lent = scales.then_some(&mut medians);
    let found = asked.updates(&step, rig.compared_gradients(), lent, &mut source);
    *rig.medians() = medians;
    found.map_err(|error| MeasureError::Unfit(error.to_string()))
}
