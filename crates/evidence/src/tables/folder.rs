//! The tables of a study's folder, read by one hand.
//!
//! Version 0.1 wrote three tables of numbers (`endpoints`, `curves`, `measurements`) where there is one
//! now; they read as the observations that they are. This is the one version back that is read.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::tables::rows::{EvaluationRow, MeasurementRow, ObservationRow};
use crate::tables::{Row, TableError, from_csv, names};

/// Why a folder's table is not read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It is there and cannot be read.
    #[error("read {}: {problem}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: io::Error,
    },
    /// It is not what it claims.
    #[error("read {}: {problem}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Where and what.
        problem: TableError,
    },
}

/// The rows of a table; none where there is no such file.
pub fn rows<R: Row>(folder: &Path, name: &str) -> Result<Option<Vec<R>>, FolderError> {
    let path = folder.join(name).with_extension("csv");
    let bytes = match backcut_files::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(FolderError::Unreadable { path, problem }),
    };
    from_csv(&bytes).map(Some).map_err(|problem| FolderError::Table { path, problem })
}

/// Every number of a study; none where the folder holds no such table.
pub fn observations(folder: &Path) -> Result<Option<Vec<ObservationRow>>, FolderError> {
    if let Some(rows) = rows(folder, names::OBSERVATIONS)? {
        return Ok(Some(rows));
    }
    let curves: Option<Vec<EvaluationRow>> = rows(folder, names::CURVES)?;
    let endpoints: Option<Vec<EvaluationRow>> = rows(folder, names::ENDPOINTS)?;
    let measured: Option<Vec<MeasurementRow>> = rows(folder, names::MEASUREMENTS)?;
    if curves.is_none() && endpoints.is_none() && measured.is_none() {
        return Ok(None);
    }
    let curves = curves.unwrap_or_default();
    let place = |row: &EvaluationRow| {
        (row.source.clone(), row.arm.clone(), row.condition.clone(), row.update)
    };
    let known: HashSet<_> = curves.iter().map(place).collect();
    // An end point is a point of its curve, unless nobody evaluated along the way.
    let ends = endpoints.unwrap_or_default().into_iter().filter(|row| !known.contains(&place(row)));
    let mut all: Vec<ObservationRow> = ends.map(ObservationRow::from).collect();
    all.splice(0..0, curves.into_iter().map(ObservationRow::from));
    all.extend(measured.unwrap_or_default().into_iter().map(ObservationRow::from));
    Ok(Some(all))
}
