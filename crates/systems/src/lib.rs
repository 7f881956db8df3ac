//! Systems to learn on: known dynamics, a policy with memory, a sampler, a loss.
//!
//! **Does**: writes each system once against the engine's trace and fills rollouts with its
//! batches.
//!
//! **Refuses**: to differentiate (the engine does) and to let a system know a cut.
//!
//! **One design decision.** A system is an object that fills rollouts and reads errors from them
//! ([`System`]); its [`Settings`] are plain data, and a [`Catalogue`] knows settings by name.
//! Training, measurement, studies and commands see only that, so a user's own system is a first
//! class citizen.

mod behaviour;
pub mod cart_pole;
mod catalogue;
pub mod delayed_cue;
mod optimizer;
pub mod policy;
pub mod quadrotor;
mod settings;
mod system;

pub use behaviour::Behaviour;
pub use catalogue::{Built, Catalogue, Outline, SystemChoice, change};
pub use optimizer::{
    Adam, AdamW, Clip, Decay, Kind, Optimizer, ParameterGroup, Placed, Rule, Schedule, Sgd,
};
pub use settings::{
    BothPrecisions, Flag, Latent, Quantity, Recorded, Settings, SettingsError, WINDOW,
};
pub use system::{BatchKey, Reference, SampleError, Stream, System};
