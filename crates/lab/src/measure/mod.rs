//! Measurements at matched states: restore a state completely, change one thing, compare.
//!
//! **Does**: for any system of the engine and any checkpoint, says what a cut does to the gradient,
//! what the optimizer makes of it, and what the policy really reads from its memory.
//!
//! **Refuses**: to train further than one replayed update, to print NaN (a value that is undefined
//! says why), and to know where checkpoints come from: it sees a [`Subject`].
//!
//! **One design decision.** Every measurement is a value ([`Measurement`]) and every result is a
//! list of [`Finding`]s: one number with the name of its quantity, the cut, and the part it belongs
//! to. So a study can hold measurements beside training runs, and any result is a tidy table.

mod arms;
mod comparison;
mod cost;
mod define;
mod error;
mod finding;
mod geometry;
mod groups;
mod kinds;
mod layers;
mod median;
pub mod outside;
mod panel;
mod rig;
mod source;
mod spectral;
mod subject;
mod summary;
mod update_scales;
mod update_signs;

pub use cost::update_bytes;
pub use define::Definition;
pub use error::MeasureError;
pub use finding::{Finding, Of};
pub use geometry::Geometry;
pub use groups::{
    ALL, Group, REDUNDANT, group_of, groups, groups_apart, groups_by, is_redundant, pooled,
};
pub use kinds::ages::{age_bins, age_name, ages};
pub use kinds::chain::{ChainGains, ChainOptions, chain, chain_gains};
pub use kinds::gradient::{GradientOptions, geometry_of_gradients, gradient};
pub use kinds::gradient_seeds::seed_resultant;
pub use kinds::gradient_vjp::action_norms;
pub use kinds::update::{UpdateOptions, update, updates_of_gradients};
pub use kinds::update_across::placement_follows_history;
pub use kinds::update_replay::replayed_hash;
pub use kinds::{Measurement, definition, definitions, measure};
pub use kinds::{diagnostics, memory, probe, track};
pub use layers::{Layer, Steps};
pub use rig::Rig;
pub use spectral::norm2;
pub use subject::Subject;
pub use summary::{PERCENTILES, summarise};
