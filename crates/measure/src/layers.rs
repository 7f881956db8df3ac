//! The same step at four layers: raw gradient, clipped gradient, applied update, and the counterfactual
//! of an unclipped gradient that meets moments built from clipped ones.
//!
//! The applied update is the float difference `theta' - theta` that clipping by the global norm and
//! AdamW with weight decay really make from the complete state; [`Layers::form`] takes the very step of
//! training on a copy of the state. Storage belongs to the rig and is reused from state to state.

use backcut_engine::Cut;
use backcut_kernels::{Isa, Real, optim};
use backcut_training::{Moments, Optimizer, State, clip_factor, step_in_place};

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
    theta: Vec<R>,
    /// AdamW's moments after the last step taken.
    pub after: Moments<R>,
}

impl<R: Real> Layers<R> {
    pub fn empty() -> Self {
        Self { steps: Vec::new(), theta: Vec::new(), after: Moments::zeros(0) }
    }

    pub fn resize(&mut self, cuts: usize) {
        let none = Vec::new;
        let step = || Step { factor: 1.0, clipped: none(), applied: none(), unclipped: none() };
        self.steps.resize_with(cuts, step);
    }

    /// The clipped and applied layers of one gradient, leaving the moments after the step in `after`.
    pub fn form(
        &mut self,
        isa: Isa,
        index: usize,
        optimizer: &Optimizer,
        state: &State<R>,
        gradient: &[R],
        norm: f64,
    ) {
        let factor = clip_factor(norm, optimizer.clip);
        self.steps[index].factor = factor;
        if factor < 1.0 {
            let clipped = &mut self.steps[index].clipped;
            gradient.clone_into(clipped);
            optim::scale(isa, R::from_f64(factor), clipped);
        }
        let mut applied = std::mem::take(&mut self.steps[index].applied);
        self.take(isa, optimizer, state, factor, gradient, &mut applied);
        self.steps[index].applied = applied;
    }

    /// The counterfactual of a gradient that [`Layers::form`] clipped.
    pub fn form_unclipped(
        &mut self,
        isa: Isa,
        index: usize,
        optimizer: &Optimizer,
        state: &State<R>,
        gradient: &[R],
    ) {
        let mut unclipped = std::mem::take(&mut self.steps[index].unclipped);
        self.take(isa, optimizer, state, 1.0, gradient, &mut unclipped);
        self.steps[index].unclipped = unclipped;
    }

    /// Training's own step on a copy of the state; `update` becomes `theta' - theta`.
    fn take(
        &mut self,
        isa: Isa,
        optimizer: &Optimizer,
        state: &State<R>,
        factor: f64,
        gradient: &[R],
        update: &mut Vec<R>,
    ) {
        state.params.clone_into(&mut self.theta);
        state.moments.first.clone_into(&mut self.after.first);
        state.moments.second.clone_into(&mut self.after.second);
        self.after.step = state.moments.step;
        let (theta, after) = (&mut self.theta, &mut self.after);
        step_in_place(isa, &optimizer.adamw, R::from_f64(factor), theta, after, gradient);
        update.clear();
        update.extend(theta.iter().zip(&state.params).map(|(after, before)| *after - *before));
    }

    /// The parameters after the last step taken.
    pub fn theta(&self) -> &[R] {
        &self.theta
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

/// `|x_FF - x_FD - x_KF + x_KD|^2`, formed in `f64`.
pub(crate) fn interaction_squared<R: Real>(isa: Isa, x: [&[R]; 4], scratch: &mut Vec<f64>) -> f64 {
    let [ff, fd, kf, kd] = x;
    scratch.clear();
    let pairs = ff.iter().zip(fd).zip(kf.iter().zip(kd));
    scratch.extend(
        pairs.map(|((ff, fd), (kf, kd))| (ff.to_f64() - fd.to_f64()) - (kf.to_f64() - kd.to_f64())),
    );
    backcut_kernels::reduce::norm_squared(isa, scratch.as_slice())
}
