//! Writing one step with ordinary Rust code.
//!
//! A [`Trace`] hands out [`Var`]s; arithmetic on them records instructions. A mistake (a width that
//! does not fit, a name used twice) does not panic and needs no `?` at every line: the first one is
//! kept, with the line of *your* code that made it, and [`Trace::compile`] returns it.
//!
//! ```
//! use backcut_engine::Trace;
//!
//! let t = Trace::new();
//! let position = t.state("position", 1);
//! let target = t.input("target", 1);
//! let action = t.linear("policy", t.concat(&[position, target]), 1).tanh();
//! let next = position + action * 0.1;
//! t.next("position", next);
//! t.loss((next - target).square());
//! let program = t.compile()?;
//! assert_eq!(program.layout().len(), 3);
//! # Ok::<(), backcut_engine::TraceError>(())
//! ```

mod declare;
mod edges;
mod error;
mod layout;
mod node;
pub mod ops;
mod record;
mod var;

pub use error::TraceError;
pub use layout::{Init, Layout, Parameter};
pub(crate) use node::{Bound, Named};
pub use node::{Carried, Node, ParamId, Scope, Site};
pub(crate) use record::Inner;
pub use record::Trace;
pub use var::Var;
