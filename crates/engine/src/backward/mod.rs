//! Differentiating a recorded rollout under cuts.
//!
//! What a cut keeps is for `credit` to say; two files act on it: `edges` for state and register
//! edges, `memory` for near and far queries and for what a projection's weights collect.

mod adjoints;
pub(crate) mod ages;
mod blame;
mod collected;
mod columns;
mod condition;
mod edges;
mod instructions;
pub(crate) mod lanes;
pub(crate) mod local;
mod memory;
mod pass;
mod weights;
pub(crate) mod workspace;

pub(crate) use adjoints::Adjoints;
pub use pass::Seeds;
use pass::{SiteSeeds, add, fill};
