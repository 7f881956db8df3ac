//! The rhumb step, traced: constant course and speed for five minutes, on a sphere.
//!
//! With `c` kilometres per knot and step, `h = v_n c / 2R` and `m = phi + h`, the latitude grows by
//! `2h` and the longitude by `(v_e c / R) * stretch`, the stretch being how fast the isometric
//! latitude grows with the latitude on the way:
//!
//! ```text
//! d = cos^2 m + sin^2 h,   z = 2 cos m sin h / d,   stretch = (atanh z / z) cos m (sin h / h) / d
//! ```
//!
//! Both ratios are instructions with even series, so there is no branch at a parallel and nothing
//! cancels. The latitude enters by its cosine and sine on the reference track, from which the
//! vessel is `delta` away: `cos m = cos(ref) cos(delta + h) - sin(ref) sin(delta + h)`. A rounded
//! latitude would be multiplied by the tangent; rounded cosines are not.
//!
//! **The pole clamp.** Rhumb lines wind around poles, and a policy that has learned nothing may
//! sail there. The latitude of a step's end is held [`POLE_MARGIN`] away: the part of the move that
//! would lead beyond (the *excess*, exactly zero everywhere else) is taken off, and no derivative
//! passes that step's latitude. It is a tap, so that it can be counted; ships never come near.

use std::f64::consts::FRAC_PI_2;

use crate::sphere::RADIUS_KM;
use backcut_engine::{Trace, Var};

use super::POLE_MARGIN;

/// What the step is told of the reference track, all one or two columns per step.
#[derive(Clone, Copy)]
pub(super) struct Reference<'t> {
    /// Its latitude where the step begins, rad.
    pub latitude: Var<'t>,
    /// Cosine and sine of that latitude.
    pub cos_sin: Var<'t>,
    /// Its own move: latitude and longitude, rad.
    pub moved: Var<'t>,
}

/// Where the vessel is after a step with a velocity (knots): its difference from the reference,
/// rad. Tap: `beyond_pole`.
pub(super) fn step<'t>(
    t: &'t Trace,
    km_per_knot: f64,
    reference: Reference<'t>,
    position: Var<'t>,
    velocity: Var<'t>,
) -> Var<'t> {
    let arc = km_per_knot / RADIUS_KM;
    let (from, asked) = (position.column(0), velocity.column(0) * (0.5 * arc));
    let limit = FRAC_PI_2 - POLE_MARGIN;
    let end = reference.latitude + from + asked * 2.0;
    let beyond = t.tap("beyond_pole", (end * (1.0 / limit)).excess());
    let h = asked - beyond * (0.5 * limit);
    let ahead = from + h;
    let (cos, sin) = (reference.cos_sin.column(0), reference.cos_sin.column(1));
    let cos_m = cos * ahead.cos() - sin * ahead.sin();
    let sin_h = h.sin();
    let d = cos_m.square() + sin_h.square();
    let z = cos_m * sin_h * 2.0 / d;
    let stretch = z.atanh_ratio() * cos_m * h.sin_ratio() / d;
    let north = from + (h * 2.0 - reference.moved.column(0));
    let own = velocity.column(1) * arc * stretch;
    let east = position.column(1) + (own - reference.moved.column(1));
    t.concat(&[north, east.one_turn()])
}
