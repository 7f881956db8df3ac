//! Bytes of a CSV file to rows with named columns.
//!
//! Columns are found by name, so a newer collector may add some. A column that is missing, a row of
//! another length and a number that is not finite are errors that name file and row: a table that is not what
//! it claims must not become a figure.

use std::path::{Path, PathBuf};

use crate::error::ReportError;

/// A table's rows, with the columns that were asked for.
pub struct Rows {
    path: PathBuf,
    columns: Vec<Option<usize>>,
    names: &'static [&'static str],
    records: Vec<csv::StringRecord>,
}

impl Rows {
    /// Reads a file; a file that does not exist has no rows. A name that starts with `?` may be missing
    /// and then reads as empty.
    pub fn open(path: &Path, names: &'static [&'static str]) -> Result<Self, ReportError> {
        let path = path.to_owned();
        let problem =
            |row, problem: String| ReportError::Table { path: path.clone(), row, problem };
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { path, columns: Vec::new(), names, records: Vec::new() });
            }
            Err(error) => {
                return Err(ReportError::Unreadable { path, problem: error.to_string() });
            }
        };
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        let mut reader = csv::Reader::from_reader(bytes);
        let in_row = |error: &csv::Error| error.position().map_or(0, csv::Position::line);
        let header = reader.headers().map_err(|e| problem(in_row(&e), e.to_string()))?.clone();
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let (wanted, is_optional) =
                name.strip_prefix('?').map_or((*name, false), |n| (n, true));
            let at = header.iter().position(|h| h.trim() == wanted);
            if at.is_none() && !is_optional {
                return Err(problem(1, format!("there is no column `{wanted}`")));
            }
            columns.push(at);
        }
        let mut records = Vec::new();
        for record in reader.into_records() {
            records.push(record.map_err(|e| problem(in_row(&e), e.to_string()))?);
        }
        Ok(Self { path, columns, names, records })
    }

    /// Makes one item of every row.
    pub fn map<T>(
        &self,
        make: impl Fn(&Row<'_>) -> Result<T, ReportError>,
    ) -> Result<Vec<T>, ReportError> {
        self.records.iter().map(|record| make(&Row { rows: self, record })).collect()
    }
}

/// One row; columns are numbered as they were asked for.
pub struct Row<'a> {
    rows: &'a Rows,
    record: &'a csv::StringRecord,
}

impl Row<'_> {
    /// A column's text.
    pub fn text(&self, column: usize) -> String {
        let at = self.rows.columns[column];
        at.and_then(|at| self.record.get(at)).unwrap_or_default().trim().to_owned()
    }

    /// A column's number; nothing if the column is empty.
    pub fn number(&self, column: usize) -> Result<Option<f64>, ReportError> {
        let text = self.text(column);
        match text.parse::<f64>() {
            _ if text.is_empty() => Ok(None),
            Ok(value) if value.is_finite() => Ok(Some(value)),
            _ => Err(ReportError::Table {
                path: self.rows.path.clone(),
                row: self.record.position().map_or(0, csv::Position::line),
                problem: format!(
                    "`{}` in column `{}` is not a finite number",
                    crate::escape::plain(&text.chars().take(40).collect::<String>()),
                    self.rows.names[column]
                ),
            }),
        }
    }
}
