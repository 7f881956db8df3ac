//! The same step at four layers: raw gradient, clipped gradient, applied update, and the counterfactual
//! of an unclipped gradient that meets moments built from clipped ones.
//!
//! The applied update is the float difference `theta' - theta` that clipping by the global norm and
//! the optimizer with its weight decay really make from the complete state, by the kernel that training
//! steps with: every parameter by the rule of its own group.
//! Nothing is stored: a layer's vectors are formed a tile at a time, while they are summed over.

use std::ops::Range;

use crate::training::{Optimizer, State, Stretch};
use backcut_engine::{Cut, Layout};
use backcut_kernels::optim::{self, rule};
use backcut_kernels::{Isa, Real, reduce};
use backcut_systems::Placed;

use crate::measure::comparison::Comparison;
use crate::measure::measurement::MeasureError;
use crate::measure::rig::Rig;

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

/// What the cuts' gradients become, each from the same complete state.
pub struct Steps<'a, 's, R: Real> {
    rig: &'a Rig<'s, R>,
    state: &'a State<R>,
    factors: Vec<f64>,
    /// The rules of this step.
    stretches: Vec<Stretch>,
}

impl<'a, 's, R: Real> Steps<'a, 's, R> {
    pub(crate) fn new(
        rig: &'a Rig<'s, R>,
        optimizer: &Optimizer,
        state: &'a State<R>,
    ) -> Result<Self, MeasureError> {
        let stretches = stretches(optimizer, rig.layout(), state)?;
        let cuts = 0..rig.cuts().len();
        let factors = cuts.map(|i| optimizer.clip.factor(rig.norm(i))).collect();
        Ok(Self { rig, state, factors, stretches })
    }

    /// Some parameter's decay is added to its gradient, so that the optimizer sees the sum.
    pub(crate) fn is_decay_coupled(&self) -> bool {
        self.stretches.iter().any(|stretch| stretch.rule.coupled_decay() > 0.0)
    }

    /// The gradient that the rules see at the parameters of `range`: times `factor`, coupled decay added.
    pub(crate) fn seen(&self, index: usize, factor: f64, range: &Range<usize>, seen: &mut [R]) {
        for Stretch { range: own, rule } in &self.stretches {
            let common = own.start.max(range.start)..own.end.min(range.end);
            if common.is_empty() {
                continue;
            }
            let seen = &mut seen[common.start - range.start..common.end - range.start];
            let (theta, g) =
                (&self.state.params[common.clone()], &self.rig.gradient(index)[common]);
            let decay = R::from_f64(rule.coupled_decay());
            rule::with_decay(decay, R::from_f64(factor), theta, g, seen);
        }
    }

    /// The clipping factor of the `index`-th cut.
    pub fn factor(&self, index: usize) -> f64 {
        self.factors[index]
    }

    /// Some cut is clipped. Otherwise the clipped gradients are the raw ones and the unclipped updates the
    /// applied ones, bit by bit.
    pub(crate) fn is_clipped(&self) -> bool {
        self.factors.iter().any(|factor| *factor < 1.0)
    }

    /// The `index`-th cut's vector at a layer.
    pub fn vector(&self, layer: Layer, index: usize) -> Vec<R> {
        let len = self.state.params.len();
        let mut vector = vec![R::ZERO; len];
        self.form(layer, index, 0..len, &mut vector);
        vector
    }

    /// The cuts' vectors at a layer against each other. They are formed where they are looked at: written
    /// out, those of six cuts would push everything else out of the second cache.
    pub(crate) fn compare(&self, layer: Layer) -> Comparison {
        let mut space = Vec::new();
        self.rig.plan().compare(&mut |index, range, tile| {
            space.resize(range.len(), R::ZERO);
            self.form(layer, index, range, &mut space);
            reduce::widen(&space, tile);
        })
    }

    fn form(&self, layer: Layer, index: usize, range: Range<usize>, vector: &mut [R]) {
        let gradient = &self.rig.gradient(index)[range.clone()];
        let State { params, moments, .. } = self.state;
        let mut update = |factor: R| {
            let (rules, step, whole) =
                (&self.stretches, moments.step + 1, self.rig.gradient(index));
            let (isa, m, v) = (Isa::detect(), &moments.first, &moments.second);
            rule::update_on(isa, rules, step, factor, params, m, v, whole, range.clone(), vector);
        };
        match layer {
            Layer::Clipped if self.factors[index] < 1.0 => {
                optim::scale_into(R::from_f64(self.factors[index]), gradient, vector);
            }
            Layer::Raw | Layer::Clipped => vector.copy_from_slice(gradient),
            Layer::Applied => update(R::from_f64(self.factors[index])),
            Layer::Unclipped => update(R::ONE),
        }
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

/// The four graphs of the interaction, in its order of signs: `FF - FD - KF + KD`.
pub(crate) const FOUR: [Cut; 4] = [Cut::FF, Cut::FD, Cut::KF, Cut::KD];
