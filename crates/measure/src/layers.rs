//! The same step at four layers: raw gradient, clipped gradient, applied update, and the counterfactual
//! of an unclipped gradient that meets moments built from clipped ones.
//!
//! The applied update is the float difference `theta' - theta` that clipping by the global norm and
//! AdamW with weight decay really make from the complete state, by the kernel that training steps with.
//! Storage belongs to the rig and is reused from state to state.

use backcut_engine::Cut;
use backcut_kernels::{Isa, Real, optim};
use backcut_training::{Optimizer, State, clip_factor, update_into};

/// One of the four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// The gradient as differentiated.
    Raw,
    /// After the clip of its global norm.
    Clipped,
    /// What the optimizer adds to the parameters.
    Applied,
    /// What it would add if this one gradient were not clipped. The moments still come from clipped
    /// gradients, so this is *not* AdamW without clipping.
    Unclipped,
}

impl Layer {
    /// In the order of a step.
    pub const ALL: [Self; 4] = [Self::Raw, Self::Clipped, Self::Applied, Self::Unclipped];

    /// The first half of its quantities' names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Clipped => "clipped",
            Self::Applied => "applied",
            Self::Unclipped => "unclipped",
        }
    }
}

/// What one cut's gradient becomes.
#[derive(Clone, Debug)]
pub(crate) struct Step<R> {
    /// The clipping factor.
    pub factor: f64,
    /// Only where the factor is below 1; otherwise the raw gradient, bit by bit.
    pub clipped: Vec<R>,
    pub applied: Vec<R>,
    /// Only where the factor is below 1; otherwise the applied update.
    pub unclipped: Vec<R>,
}

/// Storage for the steps of all cuts.
#[derive(Clone, Debug)]
pub(crate) struct Layers<R> {
    pub steps: Vec<Step<R>>,
}

impl<R: Real> Layers<R> {
    pub fn new(cuts: usize) -> Self {
        let none = Vec::new;
        let step = || Step { factor: 1.0, clipped: none(), applied: none(), unclipped: none() };
        Self { steps: (0..cuts).map(|_| step()).collect() }
    }

    /// All layers of one gradient, from the complete state.
    pub fn form(
        &mut self,
        isa: Isa,
        index: usize,
        optimizer: &Optimizer,
        state: &State<R>,
        gradient: &[R],
        norm: f64,
    ) {
        let step = &mut self.steps[index];
        let State { params, moments, .. } = state;
        let update = |factor: R, update: &mut Vec<R>| {
            update.resize(gradient.len(), R::ZERO);
            update_into(isa, &optimizer.adamw, factor, params, moments, gradient, update);
        };
        step.factor = clip_factor(norm, optimizer.clip);
        update(R::from_f64(step.factor), &mut step.applied);
        if step.factor < 1.0 {
            step.clipped.resize(gradient.len(), R::ZERO);
            optim::scale_into(isa, R::from_f64(step.factor), gradient, &mut step.clipped);
            update(R::ONE, &mut step.unclipped);
        }
    }

    /// The vector of a cut at a layer.
    pub fn vector<'a>(&'a self, layer: Layer, index: usize, gradient: &'a [R]) -> &'a [R] {
        let step = &self.steps[index];
        let is_clipped = step.factor < 1.0;
        match layer {
            Layer::Clipped if is_clipped => &step.clipped,
            Layer::Raw | Layer::Clipped => gradient,
            Layer::Unclipped if is_clipped => &step.unclipped,
            Layer::Applied | Layer::Unclipped => &step.applied,
        }
    }
}

/// The four graphs of the interaction, in its order of signs: `FF - FD - KF + KD`.
pub(crate) const FOUR: [Cut; 4] = [Cut::FF, Cut::FD, Cut::KF, Cut::KD];
