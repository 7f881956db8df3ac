//! Rhumb lines on a sphere, in double precision: the reference for whatever moves a vessel.
//!
//! A step of velocity (north, east) moves the latitude by `dphi = north * c / R` and the longitude
//! by `dlambda = (east * c / R) * (dpsi / dphi)`, psi being the isometric latitude. The quotient is
//! computed without a difference of two isometric latitudes, which would cancel: with `h = dphi /
//! 2`, `m = phi + h`, `d = cos^2 m + sin^2 h` and `z = 2 cos m sin h / d`,
//!
//! ```text
//! dpsi / dphi = (atanh z / z) * cos m * (sin h / h) / d
//! ```
//!
//! and there is no branch at a parallel: both bracketed terms are even and 1 at zero. The inverse
//! uses the same quotient, so a step with the velocity that it found ends where it should.

use std::f64::consts::{PI, TAU};

use backcut_kernels::math::f64::{atanh, cos, sin};

/// The sphere's radius.
pub const RADIUS_KM: f64 = 6371.0;
/// Kilometres of a nautical mile.
pub const KM_PER_MILE: f64 = 1.852;

/// Latitude and longitude in radians.
pub type Position = [f64; 2];
/// North and east, in knots.
pub type Velocity = [f64; 2];

/// Kilometres that a knot makes in a step.
pub fn km_per_knot(step_seconds: u32) -> f64 {
    KM_PER_MILE * f64::from(step_seconds) / 3600.0
}

/// An angle brought into [-pi, pi).
pub fn wrapped(angle: f64) -> f64 {
    if (-PI..PI).contains(&angle) {
        return angle;
    }
    let turned = angle - TAU * ((angle + PI) / TAU).floor();
    // Rounding may end on pi itself.
    if turned >= PI { turned - TAU } else { turned.max(-PI) }
}

/// How fast the isometric latitude grows with the latitude, on average from `phi` to `phi + dphi`.
pub fn stretch(phi: f64, dphi: f64) -> f64 {
    let h = 0.5 * dphi;
    let (cos_m, sin_h) = (cos(phi + h), sin(h));
    let d = cos_m * cos_m + sin_h * sin_h;
    let z = 2.0 * cos_m * sin_h / d;
    let z2 = z * z;
    let atanh_over_z = if z.abs() < 1e-3 {
        1.0 + z2 * (1.0 / 3.0 + z2 * (1.0 / 5.0 + z2 / 7.0))
    } else {
        atanh(z) / z
    };
    let h2 = h * h;
    let sin_over_h = if h.abs() < 1e-3 { 1.0 - h2 / 6.0 * (1.0 - h2 / 20.0) } else { sin_h / h };
    atanh_over_z * cos_m * sin_over_h / d
}

/// Where a step with a velocity ends.
pub fn step(from: Position, velocity: Velocity, step_seconds: u32) -> Position {
    let scale = km_per_knot(step_seconds) / RADIUS_KM;
    let dphi = velocity[0] * scale;
    let dlambda = velocity[1] * scale * stretch(from[0], dphi);
    [from[0] + dphi, wrapped(from[1] + dlambda)]
}

/// The velocity whose step leads from one position to another, the short way around.
pub fn velocity(from: Position, to: Position, step_seconds: u32) -> Velocity {
    let scale = RADIUS_KM / km_per_knot(step_seconds);
    let dphi = to[0] - from[0];
    let dlambda = wrapped(to[1] - from[1]);
    [dphi * scale, dlambda / stretch(from[0], dphi) * scale]
}

/// Kilometres between positions that are close to each other, on the plane that touches between
/// them.
pub fn near_km(a: Position, b: Position) -> f64 {
    let [north, east] = offset_km(a, b);
    (north * north + east * east).sqrt()
}

/// North and east in kilometres from one position to one nearby.
pub fn offset_km(from: Position, to: Position) -> [f64; 2] {
    let (dphi, dlambda) = (to[0] - from[0], wrapped(to[1] - from[1]));
    [RADIUS_KM * dphi, RADIUS_KM * dlambda * cos(f64::midpoint(from[0], to[0]))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The isometric latitude by its definition.
    fn isometric(phi: f64) -> f64 {
        phi.sin().atanh()
    }

    #[test]
    fn the_stretch_is_that_of_isometric_latitudes() {
        for phi in [-1.2, -0.5, 0.0, 0.3, 1.0, 1.3] {
            for dphi in [0.3f64, -0.2, 0.05, -0.01, 3e-3] {
                if (phi + dphi).abs() < 1.5 {
                    let direct = (isometric(phi + dphi) - isometric(phi)) / dphi;
                    let error = (stretch(phi, dphi) / direct - 1.0).abs();
                    // What cancels in the direct formula.
                    let allowed = 1e-15 * (2.0 + isometric(phi).abs() * 4.0) / dphi.abs();
                    assert!(error < allowed.max(4e-15), "{phi} {dphi}: {error:e}");
                }
            }
        }
    }

    #[test]
    fn along_a_parallel_it_is_the_secant_and_the_series_meet_the_functions() {
        for phi in [-1.4f64, -0.3, 0.0, 0.9] {
            assert!((stretch(phi, 0.0) * phi.cos() - 1.0).abs() < 1e-15);
            for edge in [2e-3, 2e-3 * phi.cos(), 1e-3 * phi.cos()] {
                let (below, above) =
                    (stretch(phi, edge * 0.999_999), stretch(phi, edge * 1.000_001));
                // The slope of sec(phi) over so little is below 1e-7.
                assert!((below / above - 1.0).abs() < 1e-7, "{phi} {edge}");
            }
        }
    }

    #[test]
    fn the_date_line_is_nowhere() {
        for east in [10.0, -10.0f64] {
            let from = [0.5, wrapped(PI - east.signum() * 1e-5)];
            let to = step(from, [3.0, east], 300);
            assert!(from[1] * to[1] < 0.0, "it is crossed");
            let found = velocity(from, to, 300);
            assert!((found[0] - 3.0).abs() < 1e-9 && (found[1] - east).abs() < 1e-9, "{found:?}");
            assert!((near_km(from, to) / km_per_knot(300) - 109f64.sqrt()).abs() < 1e-5);
        }
    }

    proptest! {
        #[test]
        fn a_velocity_reproduces_its_step(
            lat in -1.45f64..1.45, lon in -4.0f64..4.0, north in -40f64..40.0, east in -40f64..40.0,
        ) {
            let from = [lat, wrapped(lon)];
            let to = step(from, [north, east], 300);
            prop_assert!((-PI..PI).contains(&to[1]));
            let found = velocity(from, to, 300);
            prop_assert!((found[0] - north).abs() < 1e-9 && (found[1] - east).abs() < 1e-9);
            let again = step(from, found, 300);
            prop_assert!((again[0] - to[0]).abs() < 1e-15);
            prop_assert!(wrapped(again[1] - to[1]).abs() < 1e-14);
        }

        #[test]
        fn angles_come_back_into_their_turn(angle in -100f64..100.0) {
            let turned = wrapped(angle);
            prop_assert!((-PI..PI).contains(&turned));
            prop_assert!((turned.sin() - angle.sin()).abs() < 1e-12);
        }
    }
}
