//! One step of the task: observe, act, move, pay.
//!
//! Inputs, all supplied by the sampler:
//!
//! | name | columns | holds |
//! | --- | --- | --- |
//! | `reference` | 90 | for the points t+1 ... t+10: position, velocity, velocity again |
//! | `target` | 6 | reference position and velocity at t+1 |
//! | `noise` | 3 | standard normals |
//!
//! The velocity stands twice in `reference` so that one wide subtraction of (position, 0, reading)
//! makes the 90 entries of the token. With hidden velocity there is nothing to subtract the reading
//! from: the sampler writes zeros in the second place, and the difference is zero as it must be.
//!
//! Taps: `token`, `action`, `next_state`, `true_velocity`. Edges for cuts, besides memory:
//! `observation`, and the state by parts: `position`, `attitude`, `velocity`, `rates`.

use backcut_engine::{Program, Trace, TraceError, Var};

use super::dynamics::{Orientation, State, step};
use super::{ACTIONS, HORIZON, PITCH_LIMIT, POINT, STATE, VelocityReading};
use crate::policy::Policy;

/// Weights of the loss: position, velocity, body rates, thrust action, rate actions.
const WEIGHTS: [f64; 13] = [10.0, 10.0, 10.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 5.0, 0.1, 0.1, 0.1];

/// Traces and compiles the step.
pub(super) fn compile(velocity: VelocityReading, policy: &Policy) -> Result<Program, TraceError> {
    let t = Trace::new();
    let whole = t.state("state", STATE);
    let state = State::split(whole);
    t.tap("true_velocity", state.velocity);
    let orientation = Orientation::new(&t, state.attitude);

    let token = observe(&t, velocity, &state, &orientation);
    t.tap("token", token.edge("observation"));
    let action = policy.trace(&t, token, ACTIONS).sigmoid();
    t.tap("action", action);

    let next = step(&t, &state, &orientation, action);
    let joined = next.join(&t);
    t.tap("next_state", joined);
    t.next("state", joined);
    // The chart, after the step first: a trajectory that leaves it is reported at the step that
    // took it out. What remains for the second bound is a start outside.
    t.bound("pitch", next.attitude.column(1), PITCH_LIMIT);
    t.bound("pitch", state.attitude.column(1), PITCH_LIMIT);

    t.loss(loss(&t, &next, action));
    t.compile()
}

/// The token: reading, first two columns of the world-to-body rotation, reading in body axes, body
/// rates, and the reference seen from the vehicle.
fn observe<'t>(
    t: &'t Trace,
    velocity: VelocityReading,
    state: &State<'t>,
    orientation: &Orientation<'t>,
) -> Var<'t> {
    // Declared under every reading, so that every condition draws and records the same noise.
    let noise = t.input("noise", 3);
    let zeros = t.constant(0.0, 3);
    let (reading, body) = match velocity {
        VelocityReading::Noise(sigma) => {
            let reading = state.velocity + noise * sigma;
            (reading, orientation.to_body(reading))
        }
        VelocityReading::Hidden => (zeros, zeros),
    };
    let reference = t.input("reference", HORIZON * POINT);
    let ahead = reference.sub_tiled(t.concat(&[state.position, zeros, reading]));
    let [first, second, _] = orientation.rows;
    t.concat(&[reading, first, second, body, state.rates, ahead])
}

fn loss<'t>(t: &'t Trace, next: &State<'t>, action: Var<'t>) -> Var<'t> {
    let tracking = t.concat(&[next.position, next.velocity]) - t.input("target", 6);
    t.concat(&[tracking, next.rates, action - 0.5]).weighted_square(&WEIGHTS)
}
