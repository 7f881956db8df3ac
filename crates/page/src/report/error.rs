//! Everything that can be wrong with a folder of results or with a request.

use std::borrow::Cow;
use std::path::PathBuf;

use backcut_evidence::tables::folder::FolderError;
use backcut_text::{Hinted, nearest};
use thiserror::Error;

/// What is wrong; completes "failed to ...".
#[derive(Debug, Error)]
pub enum ReportError {
    /// A folder or file can not be read.
    #[error("read {}: {problem}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The folder holds no study.
    #[error("find results in {}: no folder in it holds a table of a study", path.display())]
    NoStudies {
        /// The folder.
        path: PathBuf,
    },
    /// A table is not what its name promises.
    #[error("read {} in row {row}: {problem}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The line, the header being 1; 0 for the file as a whole.
        row: u64,
        /// What is wrong there.
        problem: String,
    },
    /// A figure, table or study that does not exist under this name.
    #[error("find the {what} `{name}` (there are: {available})")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        available: String,
    },
    /// The folder holds several studies, and one is meant.
    #[error("choose among several studies: {available}")]
    Several {
        /// Their names.
        available: String,
    },
    /// The results do not hold what a figure or a table shows.
    #[error("make {name}: {why}")]
    Missing {
        /// The figure or table.
        name: String,
        /// What is missing.
        why: String,
    },
}

impl Hinted for ReportError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unreadable { .. } | Self::NoStudies { .. } => {
                "name the folder that `backcut study collect` wrote, with one folder per study"
            }
            Self::Table { .. } => "collect the study again, or correct the table",
            Self::Several { .. } => "name one of them with --study",
            Self::Unknown { name, available, .. } => {
                return nearest(name, available.split(", ")).map_or(
                    "`backcut report list` prints every figure and table".into(),
                    |meant| format!("did you mean `{meant}`?").into(),
                );
            }
            Self::Missing { .. } => "run and collect the study that it is made from",
        }
        .into()
    }
}

impl From<FolderError> for ReportError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Unreadable { path, problem } => {
                Self::Unreadable { path, problem: problem.to_string() }
            }
            FolderError::Table { path, problem } => {
                let shown = crate::report::escape::plain(&problem.problem);
                Self::Table { path, row: problem.row, problem: shown }
            }
        }
    }
}

impl ReportError {
    /// The results do not hold what `name` shows.
    pub fn missing(name: &str, why: impl Into<String>) -> Self {
        Self::Missing { name: name.to_owned(), why: why.into() }
    }

    /// There is no `what` of this name.
    pub fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let available = known.into_iter().collect::<Vec<_>>().join(", ");
        Self::Unknown { what, name: name.to_owned(), available }
    }
}
