//! Measurements at matched states: restore a state completely, change one thing, compare.
//!
//! **Does**: for any system of the engine and any checkpoint, says what a cut does to the gradient,
//! what the optimizer makes of it, and what the policy really reads from its memory.
//!
//! **Refuses**: to train further than one replayed update, to print NaN (a value that is undefined
//! says why), and to know where checkpoints come from: it sees a [`Subject`].
//!
//! **One design decision.** Every measurement is a value ([`Measurement`]) and every result is a list
//! of [`Finding`]s: one number with the name of its quantity, the cut, and the part it belongs to. So a
//! study can hold measurements beside training runs, and any result is a tidy table.

pub mod analytic;
pub mod diagnostics;
mod finding;
mod measurement;
pub mod memory;
mod panel;
pub mod probe;
mod subject;

pub use finding::Finding;
pub use measurement::{MeasureError, Measurement, measure};
pub use subject::Subject;
