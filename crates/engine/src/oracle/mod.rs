//! A slow, plain reference that keeps the engine honest.
//!
//! **Does**: differentiates a program number by number on a scalar tape, with every stop-gradient of
//! a cut placed literally where its definition says, and by central differences.
//!
//! **Refuses**: to share code with the engine's values or derivatives. It reads a compiled program as
//! data (instructions, shapes, names) and computes with the standard library's `f64` functions.
//!
//! **One design decision.** A cut is nothing but `detach` here. Where `F_SG` gives the weights of a
//! projection credit and the stored representation none, the oracle projects a detached copy again;
//! where `Steps(k)` counts state edges along a path, it computes the rollout `k` times, each copy
//! reading its state from the one before. That is wasteful and easy to believe.

mod bridge;
mod differences;
mod edges;
mod held;
mod inputs;
mod interpret;
mod operations;
mod policy;
mod random_program;
mod tape;
#[cfg(test)]
mod tests;

pub use differences::{directional_derivative, random_direction};
pub use edges::{EdgeKey, EdgeKind, Edges, Fate};
pub use inputs::{FixedValues, Objective, OracleError, OracleInputs, OracleSpec, WrongEdge};
pub use interpret::{OracleResult, interpret};
pub(crate) use operations::{Columns, Row};
pub use policy::{PolicyRollout, PolicySizes, policy_by_hand, trace_policy};
pub use random_program::{
    Random, every_drift, random_cache_program, random_inputs, random_parameters, random_program,
};
pub use tape::{Adjoints, Scalar, Tape};
