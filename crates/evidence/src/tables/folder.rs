//! The tables of a study's folder, read by one hand.
//!
//! Version 0.1 wrote three tables of numbers (`endpoints`, `curves`, `measurements`) where there is
//! one now; they read as the observations that they are. This is the one version back that is read.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use backcut_files::Hash;

use crate::tables::row::row;
use crate::tables::rows::{ERROR, Observation};
use crate::tables::words::UnitState;
use crate::tables::{Row, TableError, from_csv, names};

const ENDPOINTS: &str = "endpoints";
const CURVES: &str = "curves";
const MEASUREMENTS: &str = "measurements";

/// The tables of the version before that hold a study's numbers.
pub const FORMER: [&str; 3] = [ENDPOINTS, CURVES, MEASUREMENTS];

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

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.csv"))
}

/// The rows of a table; none where there is no such file.
pub fn rows<R: Row>(folder: &Path, name: &str) -> Result<Option<Vec<R>>, FolderError> {
    let path = file(folder, name);
    let bytes = match backcut_files::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(FolderError::Unreadable { path, problem }),
    };
    from_csv(&bytes).map(Some).map_err(|problem| FolderError::Table { path, problem })
}

/// Every number of a study; none where the folder holds no such table.
pub fn observations(folder: &Path) -> Result<Option<Vec<Observation>>, FolderError> {
    let now = rows(folder, names::OBSERVATIONS)?;
    if now.is_some() { Ok(now) } else { former(folder) }
}

/// The same of the version before.
fn former(folder: &Path) -> Result<Option<Vec<Observation>>, FolderError> {
    let curves: Option<Vec<EvaluationRow>> = rows(folder, CURVES)?;
    let endpoints: Option<Vec<EvaluationRow>> = rows(folder, ENDPOINTS)?;
    let measured: Option<Vec<MeasurementRow>> = rows(folder, MEASUREMENTS)?;
    if curves.is_none() && endpoints.is_none() && measured.is_none() {
        return Ok(None);
    }
    let mut all = curves.unwrap_or_default();
    let place = |row: &EvaluationRow| {
        (row.source.clone(), row.arm.clone(), row.condition.clone(), row.update)
    };
    let mut known: HashMap<_, _> = all.iter().map(|row| (place(row), row.value)).collect();
    let on_curves = known.len();
    for (row, line) in endpoints.unwrap_or_default().into_iter().zip(2..) {
        // An end point is a point of its curve, unless nobody evaluated along the way.
        match known.get(&place(&row)) {
            Some(value) if on_curves > 0 && *value == row.value => {}
            Some(_) => {
                let what = "is not what the curve has, or stands there twice";
                let problem = TableError { row: line, problem: format!("its value {what}") };
                return Err(FolderError::Table { path: file(folder, ENDPOINTS), problem });
            }
            None => {
                known.insert(place(&row), row.value);
                all.push(row);
            }
        }
    }
    let measured = measured.unwrap_or_default().into_iter().map(Observation::from);
    Ok(Some(all.into_iter().map(Observation::from).chain(measured).collect()))
}

row! {
    /// `endpoints.csv` and `curves.csv` as they were.
    EvaluationRow {
        source: String,
        arm: String,
        condition: String,
        update: u64,
        value: Option<f64>,
        state: UnitState,
        unit: Hash,
        note: String,
    }
}

impl From<EvaluationRow> for Observation {
    fn from(row: EvaluationRow) -> Self {
        let EvaluationRow { source, arm, condition, update, value, state, unit, note } = row;
        let (quantity, of, part, unit) = (ERROR.to_owned(), None, None, unit.short());
        Self { source, arm, condition, update, quantity, of, part, value, state, unit, note }
    }
}

row! {
    /// `measurements.csv` as it was.
    MeasurementRow {
        source: String,
        arm: String,
        condition: String,
        update: u64,
        quantity: String,
        cut: Option<String>,
        part: Option<String>,
        value: Option<f64>,
        note: String,
        state: UnitState,
        unit: String,
    }
}

impl From<MeasurementRow> for Observation {
    fn from(row: MeasurementRow) -> Self {
        let MeasurementRow { source, arm, condition, update, quantity, cut: of, part, .. } = row;
        let MeasurementRow { value, state, unit, note, .. } = row;
        Self { source, arm, condition, update, quantity, of, part, value, state, unit, note }
    }
}
