//! The paper beside our results: its claims, studies, figures, tables and the reproduction page.
//!
//! **Does**: holds what the paper publishes (`paper.toml`), the study files that measure the same
//! here ([`studies`]), and sets the two side by side ([`Reproduction`]): claim by claim, table by
//! table, in its figures, on one page. What only the paper asks lies here too: its small [analytic]
//! system, [orderings] of graphs, and [commands](commands()) for them.
//!
//! **Refuses**: to be known by the instrument. Every other crate serves any study; a number, a
//! study's name or an arm of the paper stands here and nowhere else, and a program that wants it
//! [hands it in](Paper).
//!
//! **One design decision.** The paper is data. An entry says what was published and how ours is
//! computed, an expression over cells or a measured quantity; code that compares never holds a
//! number of the paper.
//!
//! ```no_run
//! use backcut_paper::Reproduction;
//! use backcut_page::report::Results;
//!
//! let ours = Reproduction::new(Results::open(std::path::Path::new("results"))?)?;
//! std::fs::write("memory-value.svg", ours.figure("memory-value")?.svg())?;
//! std::fs::write("reproduction.md", ours.markdown())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agreement;
pub mod analytic;
mod answer;
mod beside;
pub mod calibration;
mod commands;
pub mod compare;
mod edges;
pub mod entry;
mod figures;
mod finding;
mod measured;
pub mod multiverse;
pub mod orderings;
mod page;
pub mod paper;
mod publication;
pub mod published;
mod reproduction;
mod selected;
pub mod studies;
mod summary;
mod tables;
pub mod values;
mod words;

pub use answer::Answer;
pub use beside::{PROGRAMMES, Reproduction, SECOND};
pub use commands::commands;
pub use edges::{DesignEdge, DesignEdges, EdgeKind, EdgeLife};
pub use figures::FIGURES;
pub use finding::Finding;
pub use publication::Paper;
