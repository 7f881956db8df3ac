//! The same step at four layers: raw gradient, clipped gradient, applied update, and the
//! counterfactual of an unclipped gradient that meets moments built from clipped ones.
//!
//! The applied update is the float difference `theta' - theta` that clipping by the global norm and
//! the optimizer with its weight decay really make from the complete state, by the kernel that
//! training steps with: every parameter by the rule of its own group. Nothing is stored: a layer's
//! vectors are formed a tile at a time, while they are summed over.

use std::ops::Range;

use crate::training::{Clip, Optimizer, Rule, State, Stretch};
use backcut_engine::Layout;
use backcut_kernels::optim::{self, rule};
use backcut_kernels::{Isa, Real};
use backcut_systems::Placed;

use crate::measure::error::MeasureError;

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
    /// gradients, so this is *not* the optimizer without clipping.
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

/// An optimizer at the step that follows a state.
pub(crate) struct Step {
    /// The rule whose second moment is the scale.
    pub rule: Rule,
    /// Every parameter's rule.
    pub stretches: Vec<Stretch>,
    /// The clip of the global norm.
    pub clip: Clip,
    /// Updates that the moments have seen.
    pub before: u64,
    /// Whether there is a first and a second moment; what is not there is zero.
    pub has: [bool; 2],
}

impl Step {
    /// The step of training from a state.
    pub fn new<R: Real>(
        optimizer: &Optimizer,
        layout: &Layout,
        state: &State<R>,
    ) -> Result<Self, MeasureError> {
        let before = state.moments.step;
        let (rule, clip) = (optimizer.at(before + 1), optimizer.clip);
        let stretches = stretches(optimizer, layout, state)?;
        Ok(Self { rule, stretches, clip, before, has: [true, true] })
    }

    /// Some parameter's decay is added to its gradient, so that the optimizer sees the sum.
    pub fn is_decay_coupled(&self) -> bool {
        self.stretches.iter().any(|stretch| stretch.rule.coupled_decay() > 0.0)
    }

    /// The rules of `range`, counted from its start.
    pub fn rules_in(&self, range: &Range<usize>, rules: &mut Vec<Stretch>) {
        rules.clear();
        rules.extend(self.stretches.iter().filter_map(|Stretch { range: own, rule }| {
            let (start, end) = (own.start.max(range.start), own.end.min(range.end));
            let range = start.checked_sub(range.start)?..end.saturating_sub(range.start);
            (!range.is_empty()).then_some(Stretch { range, rule: *rule })
        }));
    }
}

/// A stretch of everything that a step is made of but the gradient, and the rules there.
pub(crate) struct At<'a, R> {
    pub rules: &'a [Stretch],
    /// The step, counted from 1.
    pub step: u64,
    pub parameters: &'a [R],
    pub first: &'a [R],
    pub second: &'a [R],
}

impl<R: Real> At<'_, R> {
    /// Writes what a layer makes of a gradient that is clipped by `factor`.
    pub fn form(&self, layer: Layer, factor: f64, gradient: &[R], vector: &mut [R]) {
        let Self { rules, step, parameters, first, second } = *self;
        let mut update = |factor: R| {
            let (isa, all) = (Isa::detect(), 0..vector.len());
            rule::update_on(
                isa, rules, step, factor, parameters, first, second, gradient, all, vector,
            );
        };
        match layer {
            Layer::Clipped if factor < 1.0 => {
                optim::scale_into(R::from_f64(factor), gradient, vector);
            }
            Layer::Raw | Layer::Clipped => vector.copy_from_slice(gradient),
            Layer::Applied => update(R::from_f64(factor)),
            Layer::Unclipped => update(R::ONE),
        }
    }

    /// The gradient that the rules see in `range`: times `factor`, coupled decay added.
    pub fn seen(&self, factor: f64, gradient: &[R], range: &Range<usize>, seen: &mut [R]) {
        for Stretch { range: own, rule } in self.rules {
            let common = own.start.max(range.start)..own.end.min(range.end);
            if common.is_empty() {
                continue;
            }
            let seen = &mut seen[common.start - range.start..common.end - range.start];
            let (theta, g) = (&self.parameters[common.clone()], &gradient[common]);
            let decay = R::from_f64(rule.coupled_decay());
            rule::with_decay(decay, R::from_f64(factor), theta, g, seen);
        }
    }
}

/// What the cuts' gradients become, each from the same complete state.
pub struct Steps<'a, R: Real> {
    step: Step,
    state: &'a State<R>,
    gradients: Vec<&'a [R]>,
    factors: Vec<f64>,
}

impl<'a, R: Real> Steps<'a, R> {
    pub(crate) fn new(
        step: Step,
        state: &'a State<R>,
        gradients: Vec<&'a [R]>,
        norms: &[f64],
    ) -> Self {
        let factors = norms.iter().map(|norm| step.clip.factor(*norm)).collect();
        Self { step, state, gradients, factors }
    }

    /// The clipping factor of the `index`-th cut.
    pub fn factor(&self, index: usize) -> f64 {
        self.factors[index]
    }

    /// The `index`-th cut's vector at a layer.
    pub fn vector(&self, layer: Layer, index: usize) -> Vec<R> {
        let State { params, moments, .. } = self.state;
        let at = At {
            rules: &self.step.stretches,
            step: self.step.before + 1,
            parameters: params,
            first: &moments.first,
            second: &moments.second,
        };
        let mut vector = vec![R::ZERO; params.len()];
        at.form(layer, self.factors[index], self.gradients[index], &mut vector);
        vector
    }
}

/// Every parameter's rule at the step that follows a state.
pub(crate) fn stretches<R: Real>(
    optimizer: &Optimizer,
    layout: &Layout,
    state: &State<R>,
) -> Result<Vec<Stretch>, MeasureError> {
    let placed = Placed::new(optimizer, layout).map_err(MeasureError::Unfit)?;
    Ok(placed.stretches(optimizer, state.moments.step + 1))
}
