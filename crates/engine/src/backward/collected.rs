//! Which output adjoints a linear site's weight product takes: those of a lane as they are, or what
//! a variant makes of them.

use backcut_kernels::{Aligned, Real};

use crate::backward::lanes::{Plan, Variant};
use crate::compile::linears::LinearSite;

/// Where the weight product of a linear site finds its output adjoints.
#[derive(Clone, Debug)]
pub(crate) struct Collected<R> {
    /// For each variant.
    pub of_variant: Vec<Source<R>>,
    /// For a shared parameter: weight and bias gradients aside, per variant.
    pub aside: Vec<Option<Aligned<R>>>,
}

/// A linear site's output adjoints of one chunk of steps, for one variant.
#[derive(Clone, Debug)]
pub(crate) enum Source<R> {
    /// Its leader's are the same.
    Leader,
    /// The adjoints of this lane, as they are.
    Lane(usize),
    /// What the variant makes of them, `[slot][row][column]`.
    Ring(Aligned<R>),
}

impl<R> Source<R> {
    pub fn ring(&mut self) -> Option<&mut Aligned<R>> {
        match self {
            Self::Ring(ring) => Some(ring),
            Self::Leader | Self::Lane(_) => None,
        }
    }
}

impl<R: Real> Collected<R> {
    /// `rows` of one chunk.
    pub fn new(linear: &LinearSite, plan: &Plan, split: &[bool], rows: usize) -> Self {
        let is_split = split[linear.weight] || linear.bias.is_some_and(|b| split[b]);
        let serves = |index: usize| is_split || plan.variants[index].leader == index;
        let source = |index: usize| {
            let Variant { group, credits, .. } = &plan.variants[index];
            let lanes = plan.groups[*group].lanes();
            let mut edges = linear.role.projections.iter();
            let collects_more = edges.any(|&edge| credits.cache(edge).has_far());
            if !serves(index) {
                Source::Leader
            } else if collects_more || lanes.len() > 1 {
                Source::Ring(Aligned::zeros(rows * linear.n_out))
            } else {
                Source::Lane(lanes.start)
            }
        };
        let aside = |index: usize| {
            let bias = if linear.bias.is_some() { linear.n_out } else { 0 };
            let len = linear.n_in * linear.n_out + bias;
            (linear.shared && serves(index)).then(|| Aligned::zeros(len))
        };
        let variants = || 0..plan.variants.len();
        Self {
            of_variant: variants().map(source).collect(),
            aside: variants().map(aside).collect(),
        }
    }

    /// Whether some variant takes a lane's adjoints as they are.
    pub fn takes_adjoints(&self) -> bool {
        self.of_variant.iter().any(|source| matches!(source, Source::Lane(_)))
    }

    /// Heap bytes of the numbers held.
    pub fn bytes(&self) -> usize {
        let rings = self.of_variant.iter().map(|source| match source {
            Source::Ring(ring) => ring.bytes(),
            Source::Leader | Source::Lane(_) => 0,
        });
        rings.sum::<usize>() + self.aside.iter().flatten().map(Aligned::bytes).sum::<usize>()
    }
}
