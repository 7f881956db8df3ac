//! The vessel: a policy with memory that predicts where a ship goes, five minutes at a time.
//!
//! **Does**: windows of ships' tracks (a store, or a fleet that nobody sailed) as batches; the
//! rhumb step, the policy, the loss and both phases, teacher-forced pretraining and free rollouts,
//! as a
//! [`System`](backcut_systems::System). Four numbers are the state, in this order: latitude and
//! longitude (rad) and the velocity north and east (knots). The action is the next velocity, and
//! the step is made with it.
//!
//! **Refuses**: to see reserved vessels, to train on a held-out segment, and to hide that a vessel
//! was held off a pole ([`System::safeguarded`](backcut_systems::System::safeguarded) counts it).
//!
//! **One design decision.** Positions are kept as *differences from a reference track*, of which
//! the program is told, step by step, how far it moves (and the cosine and sine of its latitude),
//! computed in `f64`. The reference is the true track. A shift by data changes no derivative, so
//! states, cuts and chain gains are those of absolute positions; but in `f32` they are worlds
//! apart. An absolute longitude has steps of up to a metre and a half, and an offset from the
//! window's origin still loses up to five centimetres *in the same direction* at each of 288 steps,
//! since a steady ship adds the same number to the same grid. The difference from the truth is what
//! the loss squares: it loses nothing where the prediction is good and a ten millionth where it is
//! not, there is no subtraction of large numbers anywhere, and neither a date line nor a wrap.
//! `vessel_positions_hold_to_a_metre.rs` compares with rhumb lines in `f64`.
//!
//! ```
//! use backcut_systems::System;
//! use backcut_vessel::system::{Data, Fleet, VesselConfig};
//!
//! let data = Data::Fleet(Fleet { ships: 6, days: 6, seed: 1 });
//! let system = VesselConfig { data, ..VesselConfig::default() }.check()?;
//! assert_eq!(System::<f32>::steps(&system), 16 + 96);
//! assert!(System::<f32>::data_hash(&system).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod data;
mod dynamics;
mod error;
mod reference;
mod sampler;
mod settings;
mod task;
mod vessel;

pub use crate::Fleet;
pub use config::{Data, Output, PanelName, Phase, Preset, Sizes, VesselConfig};
pub use error::VesselError;
pub use sampler::Batch;
pub use vessel::Vessel;

/// Columns of the state.
pub const STATE: usize = 4;

/// Columns of the action.
pub const ACTIONS: usize = 2;

/// Columns of the token: the velocity reading, and the position seen from the last observed one.
pub const TOKEN: usize = 4;

/// Unit of positions in tokens and key points.
pub const UNIT_KM: f64 = 100.0;

/// How close to a pole a step may end, in radians: half a degree.
pub const POLE_MARGIN: f64 = 0.5 * std::f64::consts::PI / 180.0;
