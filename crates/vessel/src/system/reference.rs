//! Constant velocity: what a prediction must beat. In plain `f64` code, on the data alone.

use crate::model::Window;
use crate::sphere::{Position, RADIUS_KM, step, wrapped};
use backcut_kernels::math::f64::cos;

/// Squared distance in km^2, `(R dphi)^2 + (R cos(phi) dlambda)^2` with the true latitude in the
/// cosine.
pub(super) fn squared_km(found: Position, truth: Position) -> f64 {
    let north = RADIUS_KM * (found[0] - truth[0]);
    let east = RADIUS_KM * cos(truth[0]) * wrapped(found[1] - truth[1]);
    north * north + east * east
}

/// Where sailing on with the last observed velocity leads, from the last observed position on.
pub(super) fn positions(
    window: &Window,
    step_seconds: u32,
) -> impl ExactSizeIterator<Item = Position> {
    let last = window.observed - 1;
    let mut next = window.positions[last];
    window.positions[last..].iter().map(move |_| {
        let here = next;
        next = step(here, window.velocities[last], step_seconds);
        here
    })
}

/// Its squared position errors, km^2, step by step.
pub(super) fn position_errors(
    window: &Window,
    step_seconds: u32,
) -> impl ExactSizeIterator<Item = f64> {
    let truth = &window.positions[window.observed - 1..];
    let errors = positions(window, step_seconds).zip(truth);
    errors.map(|(found, truth)| squared_km(found, *truth)).skip(1)
}

/// The mean squared error, kn^2, of taking the last velocity for the next one, from step `first`
/// on.
pub(super) fn velocity_error(window: &Window, first: usize) -> f64 {
    let steps = window.velocities[first - 1..].windows(2);
    let count = steps.len() as f64;
    let squares =
        steps.map(|two| (two[1][0] - two[0][0]).powi(2) + (two[1][1] - two[0][1]).powi(2));
    squares.sum::<f64>() / count
}
