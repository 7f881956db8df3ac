//! Small quadrotors and their rollouts, for the tests beside this folder.
#![allow(dead_code, reason = "each test file uses its own part")]

use backcut_engine::{ForwardSpec, Model, Rollout};
use backcut_kernels::Real;
use backcut_systems::quadrotor::{InitialSpread, QuadrotorConfig, VelocityReading};
use backcut_systems::{BatchKey, Stream, System};

/// Starts far from hover, so that every term of the dynamics has a say.
pub const WIDE: InitialSpread =
    InitialSpread { position_m: 0.5, attitude_rad: 0.25, velocity_mps: 0.5, rates_radps: 0.5 };

/// A small policy, 12 steps, 3 trajectories.
pub fn small(velocity: VelocityReading) -> QuadrotorConfig {
    let mut config = QuadrotorConfig { velocity, spread: WIDE, batch: 3, ..Default::default() };
    config.policy.steps = 12;
    config.policy.width = 8;
    config.policy.heads = 2;
    config.policy.hidden = 16;
    config
}

pub fn key(seed: u64, stream: Stream, update: u64) -> BatchKey {
    BatchKey { seed, stream, update }
}

/// Storage for a batch, with another forward than the system's own if asked.
pub fn rollout<R: Real>(system: &dyn System<R>, spec: ForwardSpec<R>) -> Rollout<R> {
    let (rows, steps) = (system.batch_rows(), system.steps());
    Rollout::new(system.program(), rows, steps, spec).unwrap()
}

/// The system's policy with initial weights, enlarged so that its actions differ clearly.
pub fn model<R: Real>(system: &dyn System<R>, factor: f64) -> Model<R> {
    let program = system.program();
    let mut values = program.layout().initialise::<R>(11);
    for value in &mut values {
        *value = *value * R::from_f64(factor);
    }
    Model::new(program, values).unwrap()
}

/// Values of a tap or input over all steps, `[step][row][column]`.
pub fn tap<'r, R: Real>(rollout: &'r Rollout<R>, name: &str) -> &'r [R] {
    rollout.values(rollout.program().tap(name).unwrap())
}
