//! One step of the task: read the velocity, choose the next one, move, pay.
//!
//! Inputs of a step, all supplied by the sampler; the *reference* is the true track, the *pivot*
//! the last observed position:
//!
//! | name | columns | holds |
//! | --- | --- | --- |
//! | `latitude` | 1 | the reference's latitude where the step begins, rad |
//! | `cos_sin` | 2 | its cosine and sine |
//! | `moved` | 2 | how far the reference moves, rad |
//! | `here` | 2 | where the reference is, north and east of the pivot, in 100 km |
//! | `east` | 1 | how many 100 km a radian of longitude is at the pivot |
//! | `east_km` | 1 | how many km it is where the reference's step ends |
//! | `noise` | 2 | standard normals |
//! | `true_velocity` | 2 | in pretraining: the velocity of this step, knots |
//!
//! The condition is `key_points`: north and east of the pivot in 100 km, and which one of them it
//! is, one column each, so that the weights of these columns are learned positions.
//!
//! The policy's output is the change of the velocity that it read, in units of the usual change
//! from step to step, so that zero is constant velocity; or, as the paper has it, the next velocity
//! itself ([`Output`]). Taps: `token`, `action`, `next_state`, `beyond_pole`.

use crate::sphere::RADIUS_KM;
use backcut_engine::{Program, Trace, TraceError};

use super::dynamics::{Reference, step};
use super::{ACTIONS, Output, Phase, STATE, UNIT_KM, VesselConfig};

/// What the data say about velocities.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Scales {
    /// Kilometres that a knot makes in a step.
    pub km_per_knot: f64,
    /// Root mean square of a velocity's components, knots.
    pub velocity: f64,
    /// Root mean square of their change from step to step, knots.
    pub change: f64,
}

/// Traces and compiles the step.
pub(super) fn compile(config: &VesselConfig, scales: &Scales) -> Result<Program, TraceError> {
    let sizes = config.preset.sizes();
    let policy = sizes.policy(config.policy);
    let t = Trace::new();
    let tokens = t.condition_input("key_points", sizes.key_points, 2 + sizes.key_points);
    let context = policy.encode(&t, tokens);

    let whole = t.state("state", STATE);
    let [position, velocity] = whole.parts([("position", 2), ("velocity", 2)]);
    let reading = velocity + t.input("noise", 2) * (config.noise * scales.velocity);
    let scaled =
        [position.column(0) * (RADIUS_KM / UNIT_KM), position.column(1) * t.input("east", 1)];
    let place = t.input("here", 2) + t.concat(&scaled);
    let token = t.tap("token", t.concat(&[reading * (1.0 / scales.velocity), place]));
    let out = policy.trace_with(&t, token.edge("observation"), context, ACTIONS);
    let action = t.tap(
        "action",
        match config.output {
            Output::Change => reading + out * scales.change,
            Output::Velocity => out * scales.velocity,
        },
    );

    let reference = Reference {
        latitude: t.input("latitude", 1),
        cos_sin: t.input("cos_sin", 2),
        moved: t.input("moved", 2),
    };
    let next = step(&t, scales.km_per_knot, reference, position, action);
    t.next("state", t.tap("next_state", t.concat(&[next, action])));

    let learned = 1.0 / config.learned_steps() as f64;
    t.loss(match config.phase {
        Phase::Pretrain => {
            let weight = learned / (scales.change * scales.change);
            (action - t.input("true_velocity", ACTIONS)).weighted_square(&[weight; ACTIONS])
        }
        Phase::Rollout => {
            let km = [next.column(0) * RADIUS_KM, next.column(1) * t.input("east_km", 1)];
            t.concat(&km).weighted_square(&[learned; 2])
        }
    });
    t.compile()
}
