//! Where vectors come from that are compared.

use std::borrow::Cow;
use std::ops::Range;

use backcut_kernels::Real;
use backcut_text::Hinted;

/// What is wrong with gradients made elsewhere, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct OutsideError {
    what: String,
    hint: String,
}

impl OutsideError {
    /// An error with a hint.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl Hinted for OutsideError {
    fn hint(&self) -> Cow<'_, str> {
        self.hint.as_str().into()
    }

    fn is_bug(&self) -> bool {
        false
    }
}

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

/// Where vectors come from. Every vector is asked for from its start to its end, one stretch after
/// the other, as often as there are passes.
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

impl<'a, R: Real> InMemory<'a, R> {
    fn of(&self, vector: Vector) -> &'a [R] {
        match vector {
            Vector::Parameters => self.parameters,
            Vector::First => self.first,
            Vector::Second => self.second,
            Vector::Gradient(arm) => self.gradients.get(arm).copied().unwrap_or_default(),
        }
    }

    /// Refuses numbers that are not finite. Whoever made them by a rollout knows that already.
    pub fn check(&self) -> Result<(), OutsideError> {
        let arms = (0..self.gradients.len()).map(Vector::Gradient);
        let others = [Vector::Parameters, Vector::First, Vector::Second];
        for vector in others.into_iter().chain(arms) {
            let values = self.of(vector);
            if let Some(at) = values.iter().position(|value| !value.to_f64().is_finite()) {
                let what = format!("{vector:?}: number {at} is {}", values[at].to_f64());
                return Err(OutsideError::new(what, "gradients and parameters are finite numbers"));
            }
        }
        Ok(())
    }
}

impl<R: Real> Source<R> for InMemory<'_, R> {
    fn read(
        &mut self,
        vector: Vector,
        range: Range<usize>,
        values: &mut [R],
    ) -> Result<(), OutsideError> {
        let from = self.of(vector);
        let found = from.get(range.clone()).ok_or_else(|| {
            let what = format!("{vector:?} has {} numbers, not {}", from.len(), range.end);
            OutsideError::new(what, "give every vector the length of the parameters")
        })?;
        values.copy_from_slice(found);
        Ok(())
    }
}
