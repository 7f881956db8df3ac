//! How long windows are, and where they may begin.

use serde::{Deserialize, Serialize};

use crate::error::AisError;
use crate::segment::Segment;
use crate::sphere::velocity;

/// The shape of a window.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Shape {
    /// Steps that are observed.
    pub observed: usize,
    /// Steps that are predicted.
    pub predicted: usize,
    /// Key points of the predicted route, both ends among them.
    pub key_points: usize,
    /// More than half of a window's steps are faster than this. 0 lets every window pass.
    pub median_knots: f64,
}

impl Default for Shape {
    fn default() -> Self {
        Self { observed: 16, predicted: 288, key_points: 16, median_knots: 3.0 }
    }
}

impl Shape {
    /// Steps of a window. It spans one place more.
    pub fn steps(&self) -> usize {
        self.observed + self.predicted
    }

    /// Checks that windows of this shape can be made.
    pub fn check(&self) -> Result<(), AisError> {
        let wrong =
            |setting, value: String, problem| Err(AisError::Setting { setting, value, problem });
        if self.observed == 0 || self.observed > 1 << 20 {
            return wrong("observed", self.observed.to_string(), "1 to 1048576 is possible");
        }
        if self.predicted == 0 || self.predicted > 1 << 20 {
            return wrong("predicted", self.predicted.to_string(), "1 to 1048576 is possible");
        }
        if !(2..=self.predicted + 1).contains(&self.key_points) {
            let value = self.key_points.to_string();
            return wrong(
                "key_points",
                value,
                "2 to one more than the predicted steps is possible",
            );
        }
        if !(0.0..1e6).contains(&self.median_knots) {
            return wrong("median_knots", self.median_knots.to_string(), "0 or more is possible");
        }
        Ok(())
    }
}

/// For every place where a window fits, whether the vessel moves in it: a running count, so that
/// long segments cost no more than their length.
pub fn moving_starts(segment: &Segment, step_seconds: u32, shape: &Shape) -> Vec<bool> {
    let steps = shape.steps();
    let Some(starts) = segment.places.len().checked_sub(steps).filter(|_| steps > 0) else {
        return Vec::new();
    };
    if shape.median_knots == 0.0 {
        return vec![true; starts];
    }
    let limit = shape.median_knots * shape.median_knots;
    let mut before = None;
    let fast: Vec<bool> = (segment.places.iter())
        .filter_map(|place| {
            let position = place.radians();
            let [north, east] = velocity(before.replace(position)?, position, step_seconds);
            Some(north * north + east * east > limit)
        })
        .collect();
    let mut count = fast.iter().take(steps).filter(|is_fast| **is_fast).count();
    let mut moves = Vec::with_capacity(starts);
    for start in 0..starts {
        moves.push(2 * count > steps);
        count -= usize::from(fast[start]);
        count += usize::from(fast.get(start + steps).copied().unwrap_or(false));
    }
    moves
}

/// How many windows without a common step fit where the vessel moves, taken from the beginning on.
pub fn separate_windows(moves: &[bool], shape: &Shape) -> usize {
    let (mut count, mut start) = (0, 0);
    while let Some(next) = moves.get(start..).and_then(|rest| rest.iter().position(|m| *m)) {
        count += 1;
        start += next + shape.steps();
    }
    count
}

/// The places where a window may begin.
pub fn valid_starts(segment: &Segment, step_seconds: u32, shape: &Shape) -> Vec<usize> {
    let moves = moving_starts(segment, step_seconds, shape);
    (0..moves.len()).filter(|start| moves[*start]).collect()
}
