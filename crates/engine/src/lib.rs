//! Traced step programs: one recorded forward, any backward graph.
//!
//! **Does**: records one step of a policy acting in known dynamics ([`Trace`]), rolls it out
//! ([`Rollout`]) and differentiates the recorded rollout under any [`Cut`], one or many at once.
//!
//! **Refuses**: to let a forward know the cut. Rolling takes no cut; what changes the forward is a
//! [`ForwardSpec`], another type. A cut that a program cannot honour is an error, never a fallback.
//!
//! **One design decision.** Every memory cut is one rule (`credit`): what a query gives to an
//! earlier position is *near* (weight and representation receive it), *far* (the weight alone, the
//! representation a share) or dropped. `FF` is all near, `F_SG` all far, `SEG-L` near inside a
//! segment. One path for all is what makes the identities between cuts hold bit by bit.
//!
//! | where | what |
//! | --- | --- |
//! | `trace` | writing a step down; [`ops`] are the instructions it is made of |
//! | `compile` | where values and adjoints lie, what is fused, what runs in columns |
//! | `forward` | rolling out; `instructions` is the value of every instruction |
//! | `cut`, `credit`, [`edges`] | names of cuts, what they leave of an edge, and the list of edges |
//! | `backward` | adjoints and gradients under cuts; `instructions` is what every instruction sends back |
//! | `compiled` | why the heavy code is compiled here, whoever calls it |
//!
//! The same, slowly and by other means, is the crate `backcut-oracle`.

mod backward;
mod compile;
mod compiled;
mod credit;
mod cut;
pub mod edges;
mod fault;
mod forward;
mod trace;

pub use backcut_kernels::optim::rule::Stretch;
pub use backward::Seeds;
pub use backward::ages::{StateJacobians, gradient_by_age};
pub use backward::workspace::Workspace;
pub use compile::listing::Listing;
pub use compile::program::Program;
pub use credit::{BackwardError, Declared, DeclaredCredit, Draw, Passage, Resolved};
pub use cut::{Alpha, Cut, CutError, MemoryCredit, Part, Parts, StateCredit};
pub use fault::{Fault, Phase};
pub use forward::model::{Model, Moments, WrongLength};
pub use forward::roll::RollError;
pub use forward::rollout::Rollout;
pub use forward::rollout::spec::{Donor, Fed, ForwardError, ForwardSpec, Mask, MemoryReads};
pub use trace::ops;
pub use trace::{
    Carried, Init, Layout, Node, ParamId, Parameter, Scope, Site, Trace, TraceError, Var,
};

/// The compiler's optimisation level for this crate, in which the heavy code is compiled: `0` is a
/// build that is some hundred times slower than it could be.
pub const OPT_LEVEL: &str = env!("BACKCUT_OPT_LEVEL");
