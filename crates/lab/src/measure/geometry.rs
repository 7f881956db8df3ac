//! Length and direction of one vector against another, whole and by parameter group.
//!
//! Squares are summed in `f64` by the kernels' ordered reductions. A difference is formed before it
//! is squared, so two vectors that agree in every bit are at distance exactly 0. A ratio with a
//! zero denominator has no value and says why.

use backcut_kernels::{Real, reduce};

use crate::measure::finding::{Finding, Of};
use crate::measure::groups::{ALL, Group};

/// `a` against the reference `b`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Geometry {
    /// `|a|^2`
    pub square: f64,
    /// `|b|^2`
    pub reference: f64,
    /// `a . b`
    pub dot: f64,
    /// `|a - b|^2`
    pub distance: f64,
}

impl Geometry {
    /// Compares parts of two vectors.
    pub fn of<R: Real>(group: &Group, a: &[R], b: &[R]) -> Self {
        let mut total = Self::default();
        for range in &group.ranges {
            let (a, b) = (&a[range.clone()], &b[range.clone()]);
            total.square += reduce::norm_squared(a);
            total.reference += reduce::norm_squared(b);
            total.dot += reduce::dot_wide(a, b);
            total.distance += reduce::distance_squared(a, b);
        }
        total
    }

    /// A vector of this square against itself: at no distance, unless a number is not finite.
    pub(crate) fn of_itself(square: f64) -> Self {
        Self { square, reference: square, dot: square, distance: 0.0 * square }
    }

    /// The sum over parts.
    pub fn sum(parts: &[Self]) -> Self {
        parts.iter().fold(Self::default(), |a, b| Self {
            square: a.square + b.square,
            reference: a.reference + b.reference,
            dot: a.dot + b.dot,
            distance: a.distance + b.distance,
        })
    }

    /// `|a| / |b|`
    pub fn ratio(&self) -> Option<f64> {
        (self.reference > 0.0).then(|| (self.square / self.reference).sqrt())
    }

    /// `|a - b| / |b|`
    pub fn difference(&self) -> Option<f64> {
        (self.reference > 0.0).then(|| (self.distance / self.reference).sqrt())
    }

    /// `a . b / (|a| |b|)`, within rounding of [-1, 1] and cut off there.
    pub fn cosine(&self) -> Option<f64> {
        let product = self.square.sqrt() * self.reference.sqrt();
        (product > 0.0).then(|| (self.dot / product).clamp(-1.0, 1.0))
    }

    /// Norm, ratio, difference and cosine as findings of the layer called `layer`.
    pub(crate) fn report(&self, layer: &str, of: &Of, part: &str, reference: &str) -> [Finding; 4] {
        let quantity = |name: &str| [layer, ".", name].concat();
        let or = |name: &str, value: Option<f64>, why: &dyn Fn() -> String| {
            Finding::or(quantity(name), of, part, value, why)
        };
        let of_reference = || format!("{reference}'s vector is zero here");
        let of_cosine = || {
            let own = || "its own vector is zero here".to_owned();
            if self.reference > 0.0 { own() } else { of_reference() }
        };
        [
            Finding::new(quantity("norm"), of, part, self.square.sqrt()),
            or("ratio", self.ratio(), &of_reference),
            or("difference", self.difference(), &of_reference),
            or("cosine", self.cosine(), &of_cosine),
        ]
    }
}

/// The names of all groups and, last, of the whole.
pub(crate) fn part_names(groups: &[Group]) -> impl Iterator<Item = &str> {
    groups.iter().map(|g| g.name.as_str()).chain([ALL])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_vectors_have_no_ratio_and_no_cosine() {
        let group = Group::whole(2);
        let zero_reference = Geometry::of(&group, &[1.0f32, 2.0], &[0.0, 0.0]);
        assert_eq!((zero_reference.ratio(), zero_reference.cosine()), (None, None));
        let zero = Geometry::of(&group, &[0.0f32, 0.0], &[3.0, 4.0]);
        assert_eq!((zero.ratio(), zero.difference(), zero.cosine()), (Some(0.0), Some(1.0), None));
        for finding in zero_reference.report("gradient", &"FD".into(), "x", "FF") {
            assert_eq!(finding.value.is_none(), !finding.note.is_empty(), "{finding:?}");
        }
    }

    #[test]
    fn a_vector_is_at_no_distance_from_itself() {
        let group = Group::whole(3);
        let x = [0.1f32, -7e-9, 3e7];
        let same = Geometry::of(&group, &x, &x);
        assert_eq!(
            (same.difference(), same.ratio(), same.cosine()),
            (Some(0.0), Some(1.0), Some(1.0))
        );
    }
}
