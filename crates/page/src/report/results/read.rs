//! A file of a folder to rows.

use std::path::Path;

use backcut_evidence::tables::{Row, folder};

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

/// The rows of a table; one that does not exist has none.
pub fn rows<R: Row>(folder: &Path, name: &str) -> Result<Vec<R>, ReportError> {
    Ok(folder::rows(folder, name)?.unwrap_or_default())
}
