//! Families: contrasts that are judged together, and the report on them.
//!
//! A family is parameters, then a check, then a run: only a checked family can run. Everything that
//! decides (size, level, kind of bound, margin, draws, seed) is a field, is printed, and is written
//! into the report, because the kind of bound alone can turn a failed criterion into a passed one.

mod notes;
mod params;
mod report;
mod run;

pub use crate::bootstrap::MIN_SOURCES;
pub use notes::SMALL_SAMPLE;
pub use params::{Bound, BoundError, DRAWS, Family, FamilyParams, SEED};
pub use report::{FamilyRow, Report};
pub(crate) use run::Prepared;
