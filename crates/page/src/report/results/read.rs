//! A file of a folder to rows.

use std::path::Path;

use backcut_evidence::tables::{Row, from_csv};

use crate::report::error::ReportError;

/// The bytes of a file; nothing if there is no file.
pub fn bytes(path: &Path) -> Result<Option<Vec<u8>>, ReportError> {
    match backcut_files::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(ReportError::Unreadable { path: path.to_owned(), problem: error.to_string() })
        }
    }
}

/// The rows of a table; a file that does not exist has none.
pub fn rows<R: Row>(path: &Path) -> Result<Vec<R>, ReportError> {
    let Some(bytes) = bytes(path)? else { return Ok(Vec::new()) };
    from_csv(&bytes).map_err(|error| ReportError::Table {
        path: path.to_owned(),
        row: error.row,
        problem: crate::report::escape::plain(&error.problem),
    })
}
