//! The same step at four layers: raw gradient, clipped gradient, applied update, and the counterfactual
//! of an unclipped gradient that meets moments built from clipped ones.
//!
//! The applied update is the float difference `theta' - theta` that clipping by the global norm and
//! AdamW with weight decay really make from the complete state, by the kernel that training steps with.
//! Nothing is stored: a layer's vectors are formed a tile at a time, while they are summed over.

use std::ops::Range;

use backcut_engine::Cut;
use backcut_kernels::{Real, optim, reduce};
use backcut_training::{AdamWSettings, Optimizer, State, clip_factor};

use crate::comparison::Comparison;
use crate::rig::Rig;

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

/// What the cuts' gradients become, each from the same complete state.
pub struct Steps<'a, 's, R: Real> {
    rig: &'a Rig<'s, R>,
    state: &'a State<R>,
    factors: Vec<f64>,
    /// AdamW's scalars by cut, and without a clip.
    applied: Vec<optim::Step<R>>,
    unclipped: optim::Step<R>,
}

impl<'a, 's, R: Real> Steps<'a, 's, R> {
    pub(crate) fn new(rig: &'a Rig<'s, R>, optimizer: &Optimizer, state: &'a State<R>) -> Self {
        let AdamWSettings { rate, beta1, beta2, eps, decay } = optimizer.at(state.moments.step + 1);
        let settings = optim::AdamW { rate, beta1, beta2, eps, decay };
        let step = |factor| optim::Step::new(&settings, state.moments.step + 1, factor);
        let cuts = 0..rig.cuts().len();
        let factors: Vec<f64> = cuts.map(|i| clip_factor(rig.norm(i), optimizer.clip)).collect();
        let applied = factors.iter().map(|factor| step(R::from_f64(*factor))).collect();
        Self { rig, state, factors, applied, unclipped: step(R::ONE) }
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
        let mut update = |step: optim::Step<R>| {
            let (first, second) = (&moments.first[range.clone()], &moments.second[range.clone()]);
            let params = &params[range.clone()];
            optim::adamw_update_by(step, params, first, second, gradient, vector);
        };
        match layer {
            Layer::Clipped if self.factors[index] < 1.0 => {
                optim::scale_into(R::from_f64(self.factors[index]), gradient, vector);
            }
            Layer::Raw | Layer::Clipped => vector.copy_from_slice(gradient),
            Layer::Applied => update(self.applied[index]),
            Layer::Unclipped => update(self.unclipped),
        }
    }
}

/// The four graphs of the interaction, in its order of signs: `FF - FD - KF + KD`.
pub(crate) const FOUR: [Cut; 4] = [Cut::FF, Cut::FD, Cut::KF, Cut::KD];
