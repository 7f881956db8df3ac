//! Tables: built once as text cells, then written as HTML, Markdown or LaTeX.

mod contrasts;
mod endpoints;
mod freezes;
mod predictions;
mod units;
mod write;

pub use freezes::freezes;
pub use write::Format;

use crate::report::error::ReportError;
use crate::report::results::Results;

/// A table of text, not yet in any format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The name to ask for it.
    pub name: String,
    /// The title.
    pub title: String,
    /// The header.
    pub columns: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
    /// What a reader must know beside the numbers.
    pub notes: Vec<String>,
    /// The values per source, or the table itself, as CSV.
    pub csv: String,
}

/// Every table: its name and what it shows.
pub const TABLES: &[(&str, &str)] = &[
    ("contrasts", "every contrast that a study judged"),
    ("endpoints", "errors at the last update, by arm and condition"),
    ("means", "errors at the last update: arms down, conditions across"),
    ("measurements", "what was measured at kept states"),
    ("predictions", "the contrasts that name a direction: predicted and found"),
    ("units", "units of work by study and state; failed and missing ones"),
];

/// Makes a table over all studies of a folder, or over one.
pub fn table(results: &Results, name: &str, study: Option<&str>) -> Result<Table, ReportError> {
    // Arms and conditions of several studies make no grid.
    let studies = match (name, study) {
        ("means", _) | (_, Some(_)) => vec![results.one(study)?],
        _ => results.studies().collect(),
    };
    let mut made = match name {
        "contrasts" => contrasts::contrasts(&studies),
        "endpoints" => endpoints::endpoints(results, &studies),
        "means" => endpoints::grid(results, &studies),
        "measurements" => endpoints::measured(results, &studies),
        "predictions" => predictions::predictions(&studies),
        "units" => units::units(&studies),
        _ => {
            return Err(ReportError::unknown("table", name, TABLES.iter().map(|(name, _)| *name)));
        }
    };
    if studies.len() == 1 {
        // The first column names the study.
        made.columns.remove(0);
        made.rows.iter_mut().for_each(|row| drop(row.remove(0)));
    }
    Ok(made)
}
