//! Parquet to the same rectangle of text that CSV gives.
//!
//! Flat columns of numbers, text and booleans are read through the row interface (no Arrow: it
//! would triple the build for one table). Numbers print as the shortest text that reads back to the
//! same `f64`, so nothing is lost on the way; `f32` is widened first.

use bytes::Bytes;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::contain::contained;
use crate::error::StatsError;

/// The most entries that are read. Lists of one value take no space in a file, so its length is no
/// bound.
const MAX_ENTRIES: u64 = 100_000_000;

/// The header, and rows with their numbers.
type Cells = (Vec<String>, Vec<(usize, Vec<String>)>);

/// Reads a table. The library panics on some damaged files (parquet 60.1); that is an error here.
pub(super) fn read(bytes: &[u8]) -> Result<Cells, StatsError> {
    let damaged = || StatsError::Unreadable("it is damaged Parquet".into());
    contained(|| read_sound(bytes)).unwrap_or_else(|| Err(damaged()))
}

fn read_sound(bytes: &[u8]) -> Result<Cells, StatsError> {
    let unreadable =
        |error: parquet::errors::ParquetError| StatsError::Unreadable(error.to_string());
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(unreadable)?;
    let schema = reader.metadata().file_metadata().schema();
    let header: Vec<String> =
        schema.get_fields().iter().map(|field| field.name().trim().to_owned()).collect();
    let stated = reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows);
    let stated =
        stated.fold(0u64, |sum, rows| sum.saturating_add(u64::try_from(rows).unwrap_or(u64::MAX)));
    if stated.saturating_mul(header.len() as u64) > MAX_ENTRIES {
        let what = format!("it states {stated} rows of {} columns", header.len());
        return Err(StatsError::Unreadable(what));
    }
    let mut rows = Vec::new();
    for (index, row) in reader.get_row_iter(None).map_err(unreadable)?.enumerate() {
        let row = row.map_err(unreadable)?;
        let mut cells = Vec::with_capacity(header.len());
        for (name, field) in row.get_column_iter() {
            cells.push(text(name, field)?);
        }
        // Row numbers count as in a CSV file, whose header is row 1.
        rows.push((index + 2, cells));
    }
    Ok((header, rows))
}

fn text(column: &str, field: &Field) -> Result<String, StatsError> {
    Ok(match field {
        Field::Null => String::new(),
        Field::Bool(value) => value.to_string(),
        Field::Byte(value) => value.to_string(),
        Field::Short(value) => value.to_string(),
        Field::Int(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::UByte(value) => value.to_string(),
        Field::UShort(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Float(value) => f64::from(*value).to_string(),
        Field::Double(value) => value.to_string(),
        Field::Str(value) => value.trim().to_owned(),
        other => {
            return Err(StatsError::Unreadable(format!(
                "column `{column}` holds {other:?}; only flat columns of numbers and text are read"
            )));
        }
    })
}
