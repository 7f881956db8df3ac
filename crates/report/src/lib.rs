//! Figures, tables and one self-contained page from folders of result tables.
//!
//! **Does**: reads what `backcut study collect` wrote (endpoints, curves, analyses, measurements, units) and makes
//! drawings (SVG), tables (HTML, Markdown, LaTeX), one HTML page without a single network request, and the
//! comparison with the paper, claim by claim. The same inputs give the same bytes.
//!
//! **Refuses**: to train or to measure, to make a row confirmatory (statuses are read, never granted), to drop
//! a failed or missing unit without saying so, and to let a string of a file act as markup.
//!
//! **One design decision.** A figure or table is a function of the tables alone, and whatever it cannot show is a
//! sentence, not a failure: a page over half a study is a page with the other half's absence stated. Only a
//! table that is not what it claims to be (a missing column, a number that is not finite) is an error.
//!
//! ```no_run
//! use backcut_report::{PageOptions, Results, figure, page};
//!
//! let results = Results::open(std::path::Path::new("results"))?;
//! let headline = figure(&results, "memory-value")?;
//! std::fs::write("memory-value.svg", headline.svg)?;
//! std::fs::write("report.html", page(&results, &PageOptions::default())?.html)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod compare;
mod error;
pub mod escape;
pub mod estimate;
mod figures;
pub mod format;
mod intervals;
mod page;
pub mod paper;
mod reproduction;
pub mod results;
pub mod svg;
mod tables;
mod terminal;

pub use error::ReportError;
pub use figures::design::{DesignEdge, DesignEdges, EdgeKind, EdgeLife};
pub use figures::{FIGURES, Figure, figure, quantities};
pub use page::{Page, PageOptions, page};
pub use reproduction::reproduction;
pub use results::Results;
pub use tables::{Format, Table, table, table_names};
pub use terminal::summary_text;
