//! From reports to segments: named rules with a count each, then regular times.

mod cleaner;
mod counts;
mod rules;
mod track;

pub use cleaner::Cleaner;
pub(crate) use cleaner::VESSELS;
pub use counts::{Counts, Ended};
pub use rules::{Rules, ValidRules};
