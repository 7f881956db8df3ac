//! Traced step programs: one recorded forward, any backward graph.
//!
//! **Does**: records one step of a policy acting in known dynamics ([`Trace`]), rolls it out
//! ([`Rollout`]) and differentiates the recorded rollout under any [`Cut`], one or many at once.
//!
//! **Refuses**: to let a forward know the cut. Rolling takes no cut; what changes the forward is a
//! [`ForwardSpec`], another type. A cut that a program cannot honour is an error, never a fallback.
//!
//! **One design decision.** Every memory cut is one rule (`credit`): what a query gives to an earlier position
//! is *near* (weight and representation receive it), *far* (the weight alone, the representation a share) or
//! dropped. `FF` is all near, `F_SG` all far, `SEG-L` near inside a segment. One path for all is what makes the
//! identities between cuts hold bit by bit.
//!
//! | where | what |
//! | --- | --- |
//! | `trace` | writing a step down |
//! | `ops` | the instructions, each in one place |
//! | `compile` | where values and adjoints lie, what is fused, what runs in columns |
//! | `forward` | rolling out |
//! | `cut`, `credit`, [`edges`] | names of cuts, what they leave of an edge, and the list of edges |
//! | `backward` | adjoints and gradients under cuts |
//! | `executor` | the seam to everything above |
//! | [`oracle`] | the same, slowly and by other means |

mod backward;
mod compile;
mod credit;
mod cut;
pub mod edges;
mod executor;
mod fault;
mod forward;
mod ops;
pub mod oracle;
mod trace;

pub use backcut_kernels::optim::AdamW;
pub use backcut_kernels::optim::rule::Stretch;
pub use backward::ages::StateJacobians;
pub use backward::workspace::Workspace;
pub use backward::{BackwardError, Seeds};
pub use compile::layout::{Init, Layout, Parameter};
pub use compile::program::{Carried, Program};
pub use credit::Draw;
pub use cut::{Alpha, Cut, CutError, MemoryCredit, Part, Parts, StateCredit};
pub use executor::{Cpu, Executor, Moments, OPT_LEVEL};
pub use fault::{Fault, Phase};
pub use forward::model::{Model, WrongLength};
pub use forward::roll::RollError;
pub use forward::rollout::Rollout;
pub use forward::spec::{Donor, Fed, ForwardError, ForwardSpec, Mask, MemoryReads};
pub use ops::Op;
pub use trace::{Node, ParamId, Scope, Site, Trace, TraceError, Var};
