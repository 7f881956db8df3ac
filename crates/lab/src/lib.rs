//! What is done with a system: it is trained, and measured where training stands.
//!
//! **Does**: one training loop ([`training`]), and findings at a kept state ([`measure`]).
//!
//! **Refuses**: to know a study. Where a result goes, what it may claim and what it is compared
//! with is decided above.
//!
//! **One design decision.** A measurement makes the update with the functions that training calls,
//! on the state that training wrote: the two lie in one crate so that neither grows a copy of the
//! other.

pub mod measure;
pub mod training;
