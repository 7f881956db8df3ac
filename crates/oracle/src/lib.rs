//! What the engine computes, by other means: slow, plain, and there to keep it honest.
//!
//! **Does**: differentiates a program number by number on a scalar tape, with every stop-gradient
//! of a cut placed literally where its definition says, and by central differences.
//!
//! **Refuses**: to share code with the engine's values or derivatives. It reads a compiled program
//! as data (instructions, shapes, names, which credit a cut gives to which edge, what an update
//! drew) and computes with the standard library's `f64` functions.
//!
//! **One design decision.** A cut is nothing but `detach` here. Where `F_SG` gives the weights of a
//! projection credit and the stored representation none, the oracle projects a detached copy again;
//! where `Steps(k)` counts state edges along a path, it computes the rollout `k` times, each copy
//! reading its state from the one before. That is wasteful and easy to believe.

mod bridge;
mod case;
mod differences;
mod fate;
mod inputs;
mod interpret;
mod operations;
mod policy;
mod random_program;
mod tape;

pub use case::{Case, CaseError, ORACLE_TOLERANCE, OfCut, distance, same_bits};
pub use differences::{directional_derivative, random_direction};
pub use inputs::{FixedValues, Objective, OracleError, OracleInputs, OracleSpec, WrongEdge};
pub use interpret::{OracleResult, interpret};
pub use policy::{
    PolicyRollout, PolicySizes, policy_by_hand, policy_with_state_factor, trace_policy,
};
pub use random_program::{
    Random, every_drift, random_cache_program, random_inputs, random_parameters, random_program,
};
pub use tape::{Adjoints, Scalar, Tape};
