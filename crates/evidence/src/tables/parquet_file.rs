//! Rows to Parquet: flat, every column optional.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::tables::csv_file::TableError;
use crate::tables::field::Kind;
use crate::tables::row::Row;

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        Self { row: 0, problem: format!("no Parquet: {error}") }
    }
}

/// The rows as a Parquet file of that name.
pub fn to_parquet<R: Row>(name: &str, rows: &[R]) -> Result<Vec<u8>, TableError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(format!("backcut {}", env!("CARGO_PKG_VERSION")))
        .build();
    let rows: Vec<_> = rows.iter().map(R::fields).collect();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema::<R>(name)?, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let mut columns = R::COLUMNS.iter().enumerate();
    while let (Some(mut writer), Some((index, column))) = (group.next_column()?, columns.next()) {
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row[index].is_some())).collect();
        let texts = rows.iter().filter_map(|row| row[index].as_deref());
        match column.kind {
            Kind::Text => {
                let values: Vec<ByteArray> = texts.map(ByteArray::from).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Kind::Count => {
                let values = texts.map(|text| parsed::<u64>(text).map(|count| count as i64));
                let values = values.collect::<Result<Vec<i64>, _>>()?;
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Kind::Number => {
                let values = texts.map(parsed).collect::<Result<Vec<f64>, _>>()?;
                writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn schema<R: Row>(name: &str) -> Result<TypePtr, ParquetError> {
    let field = |column: &crate::tables::row::Column| {
        let field = match column.kind {
            Kind::Text => Type::primitive_type_builder(column.name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String)),
            Kind::Count => Type::primitive_type_builder(column.name, Physical::INT64),
            Kind::Number => Type::primitive_type_builder(column.name, Physical::DOUBLE),
        };
        field.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let fields = R::COLUMNS.iter().map(field).collect::<Result<_, _>>()?;
    Ok(Arc::new(Type::group_type_builder(name).with_fields(fields).build()?))
}

/// A number's text, which has every digit that matters, as the number again.
fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, TableError> {
    text.parse().map_err(|_| TableError { row: 0, problem: format!("`{text}` is no number") })
}
