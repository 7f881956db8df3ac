//! Tables: built once as text cells, then written as HTML, Markdown or LaTeX.

mod contrasts;
mod paper_tables;
mod units;
mod write;

pub(crate) use paper_tables::{our_text, paper_text};
pub use write::Format;

use crate::error::ReportError;
use crate::paper::Paper;
use crate::results::Results;

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

/// Tables that are not in the paper.
const OWN: [(&str, &str); 3] = [
    ("summary", "every claim: ours, the paper's, agreement, status"),
    ("contrasts", "every contrast that a study judged"),
    ("units", "units of work by study and state; failed and missing ones"),
];

/// Every table: its name and what it shows.
pub fn table_names() -> Result<Vec<(String, String)>, ReportError> {
    let own = OWN.iter().map(|(name, title)| ((*name).to_owned(), (*title).to_owned()));
    let paper = Paper::load()?;
    Ok(own.chain(paper.tables.into_iter().map(|t| (t.name, t.title))).collect())
}

/// Makes a table in a format.
pub fn table(results: &Results, name: &str, format: Format) -> Result<String, ReportError> {
    Ok(build(results, name)?.write(format))
}

pub(crate) fn build(results: &Results, name: &str) -> Result<Table, ReportError> {
    let paper = Paper::load()?;
    match name {
        "summary" => return Ok(paper_tables::summary(results, &paper)),
        "contrasts" => return Ok(contrasts::contrasts(results)),
        "units" => return Ok(units::units(results)),
        _ => {}
    }
    let found = paper.tables.iter().find(|t| t.name == name);
    found.map(|t| paper_tables::comparison(results, t)).ok_or_else(|| ReportError::Unknown {
        what: "table",
        name: name.to_owned(),
        available: table_names()
            .map(|names| names.into_iter().map(|(n, _)| n).collect::<Vec<_>>().join(", "))
            .unwrap_or_default(),
    })
}
