//! Two studies that are small enough to be exact: diagnostics on the analytic system, and a
//! construction in which the cost of a cut is largest at intermediate noise.

pub mod construction;
mod study;
mod summary;
pub mod system;

pub use study::{AnalyticStudy, GRAPHS, Row, StudyParams, run};
pub use summary::{Line, Summary, summarise};
