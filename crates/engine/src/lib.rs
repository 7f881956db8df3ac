//! Traced step programs: one recorded forward, any backward graph.
//!
//! **Does**: records one step of a policy acting in known dynamics ([`Trace`]), rolls it out
//! ([`Rollout`]) and differentiates the recorded rollout under any [`Cut`], one or many at once.
//!
//! **Refuses**: to let a forward know the cut. Rolling takes no cut; what changes the forward is a
//! [`ForwardSpec`], another type. A cut that a program cannot honour is an error, never a fallback.
//!
//! **One design decision.** Every memory cut is the segment rule: what a query gives to an earlier
//! position goes to a *near* slot (same segment: weight and representation receive it) or a *far*
//! slot (the weight alone). `FF` is one segment, `F_SG` is segments of one step, `FD` ignores the far
//! slots. One path for all is what makes the identities between cuts hold bit by bit.

mod ages;
mod backward;
mod collected;
mod credit;
mod cut;
pub mod edges;
mod executor;
mod fault;
mod forward;
mod graph;
mod lanes;
mod layout;
mod model;
mod narrow;
mod ops;
pub mod oracle;
mod program;
mod roll;
mod roll_columns;
mod rollout;
mod trace;
mod workspace;

pub use ages::StateJacobians;
pub use backcut_kernels::optim::AdamW;
pub use backward::{BackwardError, Seeds};
pub use cut::{Alpha, Cut, CutError, MemoryCredit, StateCredit};
pub use executor::{Cpu, Executor, Moments};
pub use fault::{Fault, Phase};
pub use forward::{Donor, Fed, ForwardError, ForwardSpec, Mask, MemoryReads};
pub use layout::{Init, Layout, Parameter};
pub use model::{Model, WrongLength};
pub use ops::Op;
pub use program::{Carried, Program};
pub use roll::RollError;
pub use rollout::Rollout;
pub use trace::{Node, ParamId, Scope, Site, Trace, TraceError, Var};
pub use workspace::Workspace;
