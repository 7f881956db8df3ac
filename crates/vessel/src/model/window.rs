//! A window of a segment as a model sees it.

use crate::error::AisError;
use crate::model::{Shape, key_points};
use crate::segment::Segment;
use crate::sphere::{Position, Velocity, velocity};

/// Positions and velocities of consecutive steps.
///
/// A step leads from one position to the next; its velocity is the constant one of the rhumb line
/// between them, so [`sphere::step`](crate::sphere::step) from `positions[t - 1]` (or `origin`)
/// with `velocities[t]` ends in `positions[t]`. That is why a window needs a place before its first
/// position.
#[derive(Clone, PartialEq, Debug)]
pub struct Window {
    /// Where the first step began, in radians.
    pub origin: Position,
    /// Where each step ended, in radians: the observed ones first.
    pub positions: Vec<Position>,
    /// The velocity of each step, in knots.
    pub velocities: Vec<Velocity>,
    /// How many of them are observed.
    pub observed: usize,
    /// Key points of the way from the last observed position to the end, as indices of `positions`,
    /// ascending.
    pub key_points: Vec<usize>,
}

impl Window {
    /// The window that begins at a place of a segment.
    pub fn of(
        segment: &Segment,
        start: usize,
        step_seconds: u32,
        shape: &Shape,
    ) -> Result<Self, AisError> {
        shape.check()?;
        let places = start
            .checked_add(shape.steps() + 1)
            .and_then(|end| segment.places.get(start..end))
            .ok_or_else(|| {
                AisError::TooLittle(format!(
                    "a window of {} steps from place {start} does not fit into {} places",
                    shape.steps(),
                    segment.places.len()
                ))
            })?;
        let all: Vec<Position> = places.iter().map(|place| place.radians()).collect();
        let velocities = all.windows(2).map(|two| velocity(two[0], two[1], step_seconds)).collect();
        let (origin, positions) = (all[0], all[1..].to_vec());
        let first = shape.observed - 1;
        let key_points = key_points(&positions[first..], shape.key_points);
        let key_points = key_points.into_iter().map(|i| first + i).collect();
        Ok(Self { origin, positions, velocities, observed: shape.observed, key_points })
    }

    /// The positions of the key points.
    pub fn route(&self) -> Vec<Position> {
        self.key_points.iter().map(|i| self.positions[*i]).collect()
    }
}
