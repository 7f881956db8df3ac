//! Gradients made elsewhere: parameters, gradients under freely named arms, and what an optimizer makes of
//! them, compared as the gradients of cuts are.
//!
//! | file | holds |
//! | --- | --- |
//! | `described` | what a comparison knows before it looks at a number |
//! | `rule` | what SGD, Adam and AdamW add to a stretch of parameters |
//! | `compare`, `scales` | the passes over the vectors |
//! | `select` | medians of numbers that are not kept |
//! | `file`, `tensors`, `header` | vectors in a safetensors file |
//!
//! **One design decision.** Vectors are asked for a stretch at a time, in order ([`Source`]), so a file of any
//! size needs the memory of a few buffers, and numbers in memory take the same way. The sums are the
//! kernels' own ([`backcut_kernels::reduce::survey`]), in the same order as those of [`crate::measure::gradient()`]
//! and [`crate::measure::update()`]: the same numbers give the same bits. A clip needs the norm of the whole gradient
//! before the first update can be formed, and an exact median without a list takes two looks: so with an
//! optimizer the vectors are read twice, once without. The first look at rho is before it is known what is
//! clipped; a common factor keeps the order.

mod compare;
mod described;
mod file;
mod header;
mod rule;
mod scales;
mod select;
mod tensors;
#[cfg(test)]
mod tests;

pub use backcut_systems::Rule;
pub use compare::compare;
pub use described::{Described, GroupRule, Optimizing, OutsideError, group};
pub use file::{FORMAT, GradientFile, Opened, open};
pub use rule::keeps;

use std::ops::Range;

use backcut_kernels::Real;

use crate::measure::define::{Definition, define};

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

/// A vector of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vector {
    /// The parameters.
    Parameters,
    /// The optimizer's first moment, or its velocity.
    First,
    /// Its second moment.
    Second,
    /// The gradient of an arm.
    Gradient(usize),
}

/// Where vectors come from. Every vector is asked for from its start to its end, one stretch after the other,
/// as often as there are passes.
pub trait Source<R: Real> {
    /// Writes a range of a vector.
    fn read(
        &mut self,
        vector: Vector,
        range: Range<usize>,
        values: &mut [R],
    ) -> Result<(), OutsideError>;
}

/// Vectors in memory.
#[derive(Clone, Debug)]
pub struct InMemory<'a, R> {
    /// The parameters; may be empty where no optimizer is asked for.
    pub parameters: &'a [R],
    /// The first moment; empty before the first update.
    pub first: &'a [R],
    /// The second moment; empty before the first update.
    pub second: &'a [R],
    /// The gradients, arm by arm.
    pub gradients: Vec<&'a [R]>,
}

impl<R: Real> Source<R> for InMemory<'_, R> {
    fn read(
        &mut self,
        vector: Vector,
        range: Range<usize>,
        values: &mut [R],
    ) -> Result<(), OutsideError> {
        let from = match vector {
            Vector::Parameters => self.parameters,
            Vector::First => self.first,
            Vector::Second => self.second,
            Vector::Gradient(arm) => self.gradients.get(arm).copied().unwrap_or_default(),
        };
        let found = from.get(range.clone()).ok_or_else(|| {
            let what = format!("{vector:?} has {} numbers, not {}", from.len(), range.end);
            OutsideError::new(what, "give every vector the length of the parameters")
        })?;
        if let Some(at) = found.iter().position(|value| !value.to_f64().is_finite()) {
            let what = format!("{vector:?}: number {} is {}", range.start + at, found[at].to_f64());
            return Err(OutsideError::new(what, "gradients and parameters are finite numbers"));
        }
        values.copy_from_slice(found);
        Ok(())
    }
}
