//! Rolling a program out: parameters, the record of a batch, and what changes a forward. No cut in
//! sight.

mod columns;
mod instructions;
pub(crate) mod local;
pub(crate) mod model;
pub(crate) mod roll;
pub(crate) mod rollout;
