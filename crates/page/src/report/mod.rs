//! Figures, tables and one self-contained page from folders of result tables.
//!
//! **Does**: reads what `backcut study collect` wrote (observations, analyses, units) of any
//! study and makes drawings (SVG), tables (HTML, Markdown, LaTeX) and one HTML page without a single network request. The
//! same inputs give the same bytes.
//!
//! **Refuses**: to train or to measure, to make a row confirmatory (statuses are read, never granted), to drop
//! a failed or missing unit without saying so, to let a string of a file act as markup, and to know any study: names,
//! labels and units of measure are those of the tables.
//!
//! **One design decision.** A figure or table is a function of the tables alone, and whatever it cannot show is a
//! sentence, not a failure: a page over half a study is a page with the other half's absence stated. Only a
//! table that is not what it claims to be (a missing column, a number that is not finite) is an error.
//!
//! ```no_run
//! use backcut_page::report::{Results, figure, page};
//!
//! let results = Results::open(std::path::Path::new("results"))?;
//! std::fs::write("curves.svg", figure(&results, "curves", Some("mine"))?.svg())?;
//! std::fs::write("report.html", page::of_studies(&results, None)?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod chart;
pub mod data;
mod error;
pub mod estimate;
mod family;
mod figures;
pub mod page;
pub mod results;
mod summary;
mod tables;

pub use backcut_text::{escape, format};

pub use error::ReportError;
pub use family::forest;
pub use figures::{ErrorWords, FIGURES, curves, figure};
pub use results::Results;
pub use summary::{states_line, summary};
pub use tables::{Format, TABLES, Table, table};
