//! A program with the quadrotor's shape and plain dynamics.
//!
//! The edges between steps depend on layers, states and steps, not on physics, and a cost curve
//! needs more steps than the quadrotor's sampler draws. So `explain` and the curves of `bench` use
//! the same policy in a body that coasts; everything else times the real quadrotor.

use backcut_engine::{Program, Trace};
use backcut_systems::policy::{Initialisation, Policy};

use crate::exit::{Told as _, user};

/// Columns of the observation and of the state, as the quadrotor has them.
const REFERENCE: usize = 93;
const STATE: usize = 12;
const ACTIONS: usize = 4;

/// Sizes of a policy, as given on the command line.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Shape {
    /// Steps of a rollout.
    pub steps: usize,
    /// Attention layers.
    pub layers: usize,
    /// Columns of the hidden representation.
    pub width: usize,
    /// Attention heads.
    pub heads: usize,
}

impl Shape {
    /// Traces and compiles the step; taps `action` and `block<i>.stored`.
    pub fn program(self) -> anyhow::Result<Program> {
        let Self { steps, layers, width, heads } = self;
        if steps == 0 || layers == 0 || width == 0 || heads == 0 {
            let what = format!(
                "a policy of {layers} layers, {heads} heads and width {width} in {steps} steps is \
                 empty"
            );
            return Err(user(what, "use at least 1 of each"));
        }
        let policy = Policy {
            steps,
            width,
            layers,
            heads,
            hidden: 3 * width,
            initialisation: Initialisation::Pytorch,
            ..Policy::small()
        };
        let t = Trace::new();
        let state = t.state("state", STATE);
        let reference = t.input("reference", REFERENCE);
        let quarter = STATE / 4;
        let names = ["position", "attitude", "velocity", "rates"];
        state.parts(names.map(|name| (name, quarter)));
        let token = t.concat(&[state, reference]).edge("observation");
        let action = policy.trace(&t, token, ACTIONS).sigmoid();
        t.tap("action", action);
        let push = t.concat(&[action - 0.5, action - 0.5, action - 0.5]);
        let next = state * 0.95 + push * 0.05;
        t.next("state", next);
        t.loss(t.concat(&[next - reference.slice(0, STATE), action - 0.5]).square().sum());
        t.compile().told()
    }
}
