//! Rigid-body motion, traced.
//!
//! Rotations are kept as three rows of three columns: turning a vector by the transpose is then a
//! sum of rows times columns, and the observation takes two of the rows as they are. With `Rx`,
//! `Ry`, `Rz` the elementary rotations, body to world is
//!
//! ```text
//! Rz(yaw) Ry(pitch) Rx(roll) = | cy m0 - sy m1 |    m0 = (cp,  sp sr, sp cr)
//!                              | sy m0 + cy m1 |    m1 = (0,      cr,   -sr)
//!                              |            m2 |    m2 = (-sp, cp sr, cp cr)
//! ```

use backcut_engine::{Trace, Var};

use super::{DT, GRAVITY, RATE_GAIN, THRUST_RANGE};

/// The four parts of the state, three columns each.
#[derive(Clone, Copy)]
pub(super) struct State<'t> {
    pub position: Var<'t>,
    pub attitude: Var<'t>,
    pub velocity: Var<'t>,
    pub rates: Var<'t>,
}

impl<'t> State<'t> {
    pub fn split(state: Var<'t>) -> Self {
        let names = ["position", "attitude", "velocity", "rates"];
        let [position, attitude, velocity, rates] = state.parts(names.map(|name| (name, 3)));
        Self { position, attitude, velocity, rates }
    }

    pub fn join(&self, t: &'t Trace) -> Var<'t> {
        t.concat(&[self.position, self.attitude, self.velocity, self.rates])
    }
}

/// What an attitude means: its rotation, and the pieces that its kinematics needs.
pub(super) struct Orientation<'t> {
    /// Rows of the rotation from body to world: the columns of the one from world to body.
    pub rows: [Var<'t>; 3],
    /// (sin roll, cos roll)
    roll: Var<'t>,
    /// (cos roll, -sin roll)
    roll_ahead: Var<'t>,
    sin_pitch: Var<'t>,
    cos_pitch: Var<'t>,
}

impl<'t> Orientation<'t> {
    pub fn new(t: &'t Trace, attitude: Var<'t>) -> Self {
        let (sin, cos) = (attitude.sin(), attitude.cos());
        let (sin_roll, sin_pitch, sin_yaw) = (sin.column(0), sin.column(1), sin.column(2));
        let (cos_roll, cos_pitch, cos_yaw) = (cos.column(0), cos.column(1), cos.column(2));
        let roll = t.concat(&[sin_roll, cos_roll]);
        let roll_ahead = t.concat(&[cos_roll, -sin_roll]);
        let m0 = t.concat(&[cos_pitch, roll * sin_pitch]);
        let m1 = t.concat(&[t.constant(0.0, 1), roll_ahead]);
        let m2 = t.concat(&[-sin_pitch, roll * cos_pitch]);
        let rows = [m0 * cos_yaw - m1 * sin_yaw, m0 * sin_yaw + m1 * cos_yaw, m2];
        Self { rows, roll, roll_ahead, sin_pitch, cos_pitch }
    }

    /// A world vector in body axes.
    pub fn to_body(&self, world: Var<'t>) -> Var<'t> {
        let [x, y, z] = self.rows;
        x * world.column(0) + y * world.column(1) + z * world.column(2)
    }

    /// The body's third axis, in which the thrust points, in world axes.
    fn thrust_axis(&self, t: &'t Trace) -> Var<'t> {
        t.concat(&self.rows.map(|row| row.column(2)))
    }

    /// Rates of roll, pitch and yaw. With `e = sin r w1 + cos r w2` the yaw rate is `e / cos p` and
    /// the roll rate is `w0 + tan p e`, which is `w0 + sin p` times the yaw rate.
    fn attitude_rate(&self, t: &'t Trace, rates: Var<'t>) -> Var<'t> {
        let across = rates.slice(1, 2);
        let yaw = (self.roll * across).sum() / self.cos_pitch;
        let pitch = (self.roll_ahead * across).sum();
        let roll = rates.column(0) + yaw * self.sin_pitch;
        t.concat(&[roll, pitch, yaw])
    }
}

/// The state one step later. Position moves by the mean of the old and the new velocity, which is
/// `dt v + dt^2 acc / 2`.
pub(super) fn step<'t>(
    t: &'t Trace,
    state: &State<'t>,
    orientation: &Orientation<'t>,
    action: Var<'t>,
) -> State<'t> {
    let [roll, pitch, yaw] = RATE_GAIN.map(|gain| DT * gain);
    // Thrust per mass, and what the commanded rates add to the body rates.
    let command = action.affine(
        &[THRUST_RANGE, roll, pitch, yaw],
        &[GRAVITY - THRUST_RANGE / 2.0, -roll / 2.0, -pitch / 2.0, -yaw / 2.0],
    );
    let lift = orientation.thrust_axis(t) * command.column(0);
    let velocity = state.velocity + lift.affine(&[DT; 3], &[0.0, 0.0, -DT * GRAVITY]);
    let kept = state.rates.affine(&[1.0 - roll, 1.0 - pitch, 1.0 - yaw], &[0.0; 3]);
    State {
        position: state.position + (state.velocity + velocity) * (DT / 2.0),
        attitude: state.attitude + orientation.attitude_rate(t, state.rates) * DT,
        velocity,
        rates: kept + command.slice(1, 3),
    }
}
