//! Parquet to the same rectangle of text that CSV gives.
//!
//! Flat columns of numbers, text and booleans are read through the row interface (no Arrow: it
//! would triple the build for one table). Numbers print as the shortest text that reads back to the same `f64`,
//! so nothing is lost on the way; `f32` is widened first.

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::RawTable;
use crate::error::StatsError;

pub(super) fn read(bytes: &[u8]) -> Result<RawTable, StatsError> {
    let unreadable =
        |error: parquet::errors::ParquetError| StatsError::Unreadable(error.to_string());
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(unreadable)?;
    let schema = reader.metadata().file_metadata().schema();
    let header: Vec<String> =
        schema.get_fields().iter().map(|field| field.name().trim().to_owned()).collect();
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
    RawTable { header, rows }.checked()
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
