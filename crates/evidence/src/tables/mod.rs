//! The tables of a study: one type per row, written and read in one place.
//!
//! **Does**: gives every table a row type ([`rows`]); writes rows as CSV ([`to_csv`]) and Parquet
//! (`to_parquet`, behind a feature), the same rows to the same bytes; reads them back
//! ([`from_csv`]). Numbers have the fewest digits that read back; what is missing, failed or
//! undefined is an empty place, and another column says why.
//!
//! **Refuses**: to read a row that it does not understand. A missing column, a number that is not
//! finite and a word that is no state, status or verdict are errors with the row and the column: a
//! table that is not what it claims must not become a figure or an exit code. Columns are found by
//! name, so a newer program may add some, and those that older tables lack read as empty.
//!
//! **One design decision.** A row is a struct whose fields know how they are written ([`Field`]),
//! made by a ten-line macro, and not by serde's derive. The header of an empty table, the type of a
//! Parquet column, an absent text as opposed to an empty one, and the column of a wrong value all
//! follow from the same list of fields; with serde each would need a second list beside the struct.
//!
//! ```
//! use backcut_evidence::tables::rows::ProvenanceRow;
//! use backcut_evidence::tables::{from_csv, to_csv};
//!
//! let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
//! let text = format!("unit,content,head,seconds\n{hash},{hash},{hash},2.5e-5\n");
//! let rows: Vec<ProvenanceRow> = from_csv(text.as_bytes())?;
//! assert_eq!(rows[0].seconds, 0.000025);
//! assert_eq!(to_csv(&rows)?, text.as_bytes());
//!
//! let error = from_csv::<ProvenanceRow>(text.replace("2.5e-5", "soon").as_bytes()).unwrap_err();
//! assert_eq!(error.to_string(), "row 2: `soon` in column `seconds` is not a finite number");
//! # Ok::<(), backcut_evidence::tables::TableError>(())
//! ```

mod csv_file;
mod field;
pub mod folder;
#[cfg(feature = "parquet")]
mod parquet_file;
mod row;
pub mod rows;
mod words;

pub use csv_file::{TableError, from_csv, to_csv};
pub use field::{Field, Kind, Plain};
#[cfg(feature = "parquet")]
pub use parquet_file::to_parquet;
pub use row::{Column, Row, WrongField};
pub use words::{Judgement, UnitState, Work};

/// Names of a study's tables, without an ending.
pub mod names {
    /// Every number ([`Observation`](crate::tables::rows::Observation)).
    pub const OBSERVATIONS: &str = "observations";
    /// Units of work ([`UnitRow`](crate::tables::rows::UnitRow)).
    pub const UNITS: &str = "units";
    /// Where results come from ([`ProvenanceRow`](crate::tables::rows::ProvenanceRow)).
    pub const PROVENANCE: &str = "provenance";
    /// What was frozen in the whole ledger ([`FreezeRow`](crate::tables::rows::FreezeRow)); beside
    /// the studies.
    pub const FREEZES: &str = "freezes";
    /// Contrasts, judged ([`AnalysisRow`](crate::tables::rows::AnalysisRow)).
    pub const ANALYSIS: &str = "analysis";
    /// Sources that a noninferiority study would need ([`PlanRow`](crate::tables::rows::PlanRow)).
    pub const PLANS: &str = "plans";
    /// Endpoints of unpaired sources ([`ComparisonRow`](crate::tables::rows::ComparisonRow)).
    pub const COMPARISONS: &str = "comparisons";
}
