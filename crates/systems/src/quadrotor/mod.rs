//! The quadrotor: a policy with memory that tracks a moving reference.
//!
//! **Does**: the dynamics, the observation, the loss, the sampler and the evaluation of the
//! tracking task, as a [`System`](crate::System). Twelve numbers are the state, in this order:
//! position (m), attitude (roll, pitch, yaw; rad), velocity (m/s), body rates (rad/s). One step is
//! [`DT`] seconds.
//!
//! **Refuses**: to clip. An attitude whose pitch reaches [`PITCH_LIMIT`] has left the chart of
//! Euler angles, and the rollout fails with the trajectory and the step.
//!
//! **One design decision.** The step is written once, against the engine's trace, in operations as
//! wide as the task allows (rotations by rows, all reference points in one instruction), because an
//! interpreted instruction costs about the same for one column as for eight. [`simulation`] is the
//! same step in plain `f64` code with the platform's functions and shares nothing with it but
//! constants; a test holds the two together.
//!
//! ```
//! use backcut_systems::System;
//! use backcut_systems::quadrotor::{Quadrotor, QuadrotorConfig, VelocityReading};
//!
//! let config = QuadrotorConfig { velocity: "0.20".parse()?, ..QuadrotorConfig::default() };
//! let system: Quadrotor = config.check()?;
//! assert_eq!(System::<f32>::steps(&system), 32);
//! assert_eq!(system.config().velocity.to_string(), "0.2");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod dynamics;
mod error;
mod reading;
mod sampler;
mod settings;
pub mod simulation;
mod system;
mod task;

pub use config::{CLIP, InitialSpread, InitialVelocity, QuadrotorConfig};
pub use error::QuadrotorError;
pub use reading::VelocityReading;
pub use sampler::{Batch, PANEL_ROWS};
pub use system::Quadrotor;

/// Seconds per step.
pub const DT: f64 = 0.05;

/// Acceleration of gravity, m/s^2.
pub const GRAVITY: f64 = 9.81;

/// Thrust per mass is `THRUST_RANGE * (a0 - 1/2) + GRAVITY`, m/s^2.
pub const THRUST_RANGE: f64 = 15.0;

/// How fast body rates follow their command, 1/s.
pub const RATE_GAIN: [f64; 3] = [16.6, 16.6, 5.0];

/// Where the chart of Euler angles ends: 80 degrees, in radians.
pub const PITCH_LIMIT: f64 = 80.0 * std::f64::consts::PI / 180.0;

/// The longest rollout: 6.4 s.
pub const MAX_STEPS: usize = 128;

/// Reference points that the policy sees ahead.
pub const HORIZON: usize = 10;

/// Columns of the state.
pub const STATE: usize = 12;

/// Columns of the action.
pub const ACTIONS: usize = 4;

/// Columns of one reference point in the token.
pub const POINT: usize = 9;

/// Columns of the observation token.
pub const TOKEN: usize = 15 + HORIZON * POINT;
