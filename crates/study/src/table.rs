//! Tidy tables: CSV for everybody, Parquet for those with many rows. The same rows give the same bytes.

use std::fmt::Write as _;

#[cfg(feature = "parquet")]
use crate::error::StudyError;

/// One entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Nothing: missing, failed or undefined, as another column says.
    Empty,
    /// Words.
    Text(String),
    /// A count.
    Count(u64),
    /// A number.
    Number(f64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Empty }
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Words.
    Text,
    /// Counts.
    Count,
    /// Numbers.
    Number,
}

/// A table with named columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The file's name without its ending.
    pub name: &'static str,
    /// Columns.
    pub columns: Vec<(&'static str, Kind)>,
    /// Rows.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// An empty table.
    pub fn new(name: &'static str, columns: &[(&'static str, Kind)]) -> Self {
        Self { name, columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Comma-separated values, quoted where needed; numbers with the fewest digits that read back.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        for (i, (name, _)) in self.columns.iter().enumerate() {
            text.push_str(if i > 0 { "," } else { "" });
            text.push_str(name);
        }
        text.push('\n');
        for row in &self.rows {
            for (i, value) in row.iter().enumerate() {
                text.push_str(if i > 0 { "," } else { "" });
                write_value(value, &mut text);
            }
            text.push('\n');
        }
        text
    }
}

fn write_value(value: &Value, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Empty => Ok(()),
        Value::Count(count) => write!(text, "{count}"),
        Value::Number(number) if *number != 0.0 && number.abs() < 1e-4 => {
            write!(text, "{number:e}")
        }
        Value::Number(number) => write!(text, "{number}"),
        Value::Text(words) if words.contains([',', '"', '\n', '\r']) => {
            write!(text, "\"{}\"", words.replace('"', "\"\""))
        }
        Value::Text(words) => text.write_str(words),
    };
}

/// The table as a Parquet file, every column optional.
#[cfg(feature = "parquet")]
pub fn to_parquet(table: &Table) -> Result<Vec<u8>, StudyError> {
    use std::sync::Arc;

    use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;

    let wrong = |error: parquet::errors::ParquetError| {
        StudyError::invalid(format!("no Parquet for {}: {error}", table.name), "use the CSV")
    };
    let mut fields = Vec::new();
    for (name, kind) in &table.columns {
        let field = match kind {
            Kind::Text => Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String)),
            Kind::Count => Type::primitive_type_builder(name, Physical::INT64),
            Kind::Number => Type::primitive_type_builder(name, Physical::DOUBLE),
        };
        let field = field.with_repetition(Repetition::OPTIONAL).build().map_err(wrong)?;
        fields.push(Arc::new(field));
    }
    let schema = Type::group_type_builder(table.name).with_fields(fields).build().map_err(wrong)?;
    let level = ZstdLevel::try_new(3).map_err(wrong)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by(format!("backcut {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))
        .map_err(wrong)?;
    let mut group = file.next_row_group().map_err(wrong)?;
    let mut index = 0;
    while let Some(mut column) = group.next_column().map_err(wrong)? {
        let cells: Vec<&Value> = table.rows.iter().map(|row| &row[index]).collect();
        let levels: Vec<i16> =
            cells.iter().map(|value| i16::from(!matches!(value, Value::Empty))).collect();
        let present = cells.into_iter().filter(|value| !matches!(value, Value::Empty));
        match table.columns[index].1 {
            Kind::Text => {
                let values: Vec<ByteArray> = present
                    .map(|value| {
                        let mut text = String::new();
                        if let Value::Text(words) = value {
                            text.clone_from(words);
                        } else {
                            write_value(value, &mut text);
                        }
                        ByteArray::from(text.into_bytes())
                    })
                    .collect();
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)
            }
            Kind::Count => {
                let count = |value: &Value| if let Value::Count(c) = value { *c as i64 } else { 0 };
                let values: Vec<i64> = present.map(count).collect();
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)
            }
            Kind::Number => {
                let number = |value: &Value| match value {
                    Value::Number(number) => *number,
                    Value::Count(count) => *count as f64,
                    Value::Text(_) | Value::Empty => f64::NAN,
                };
                let values: Vec<f64> = present.map(number).collect();
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)
            }
        }
        .map_err(wrong)?;
        column.close().map_err(wrong)?;
        index += 1;
    }
    group.close().map_err(wrong)?;
    file.close().map_err(wrong)?;
    Ok(bytes)
}
