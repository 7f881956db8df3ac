//! Source tables: who was measured, under what, with which value.
//!
//! Two layouts are read, and which one it is follows from the header alone:
//!
//! - **long**: a source column, `value`, and `arm` or `condition` or both, under these names or
//!   others that a [`Layout`] gives; one row per measurement; the cell is named `arm@condition` (or
//!   by the one that is present);
//! - **wide**: a source column, and one column per cell; one row per source.
//!
//! Both become the same thing: sources sorted by name, and named cells with one entry per source.
//! Entries stay what they were (number, empty, other text) until a contrast asks for them, so that
//! a table may carry notes in columns nobody uses, and a gap is reported by the contrast it breaks.

#[cfg(feature = "parquet")]
mod contain;
mod evaluate;
mod influence;
mod observed;
mod raw;
#[cfg(feature = "parquet")]
mod read_parquet;
mod sources;

pub use evaluate::Evaluated;
pub use raw::{Dialect, RawTable};
pub use sources::{Cell, Layout, SourceTable};
