//! Data frames by Arrow's C stream: what pandas, polars, pyarrow, duckdb and others hand over
//! alike.
//!
//! An entry becomes the text that a file would hold, by the type of its column.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTemporalType, Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_pyarrow::Table;
use arrow_schema::{DataType, TimeUnit};
use backcut_stats::table::RawTable;
use pyo3::prelude::*;

use crate::stats::{of_number, rectangle};
use crate::wrong;

/// The rectangle of a frame.
pub fn read(frame: Table) -> PyResult<RawTable> {
    let (batches, schema) = frame.into_inner();
    let column = |(index, name): (usize, &String)| {
        let mut entries = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
        for batch in &batches {
            entries.extend(texts(name, batch.column(index))?);
        }
        Ok((name.clone(), entries))
    };
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    rectangle(names.iter().enumerate().map(column).collect::<PyResult<_>>()?)
}

/// The entries of a column; empty where nothing is.
fn texts(name: &str, values: &dyn Array) -> PyResult<Vec<String>> {
    Ok(match values.data_type() {
        DataType::Int8 => whole::<Int8Type>(values),
        DataType::Int16 => whole::<Int16Type>(values),
        DataType::Int32 => whole::<Int32Type>(values),
        DataType::Int64 => whole::<Int64Type>(values),
        DataType::UInt8 => whole::<UInt8Type>(values),
        DataType::UInt16 => whole::<UInt16Type>(values),
        DataType::UInt32 => whole::<UInt32Type>(values),
        DataType::UInt64 => whole::<UInt64Type>(values),
        DataType::Float16 => of::<Float16Type>(values, |number| of_number(number.into())),
        DataType::Float32 => of::<Float32Type>(values, |number| of_number(number.into())),
        DataType::Float64 => of::<Float64Type>(values, of_number),
        DataType::Decimal128(..) => {
            let values = values.as_primitive::<Decimal128Type>();
            each(values, |i| values.value_as_string(i))
        }
        DataType::Utf8 => {
            let values = values.as_string::<i32>();
            each(values, |i| values.value(i).trim().to_owned())
        }
        DataType::LargeUtf8 => {
            let values = values.as_string::<i64>();
            each(values, |i| values.value(i).trim().to_owned())
        }
        DataType::Utf8View => {
            let values = values.as_string_view();
            each(values, |i| values.value(i).trim().to_owned())
        }
        DataType::Dictionary(..) => {
            let coded = values.as_any_dictionary();
            let words = texts(name, coded.values())?;
            let keys = if words.is_empty() { Vec::new() } else { coded.normalized_keys() };
            each(values, |i| words[keys[i]].clone())
        }
        DataType::Null => vec![String::new(); values.len()],
        DataType::Date32 => moments::<Date32Type>(values),
        DataType::Date64 => moments::<Date64Type>(values),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => moments::<TimestampSecondType>(values),
            TimeUnit::Millisecond => moments::<TimestampMillisecondType>(values),
            TimeUnit::Microsecond => moments::<TimestampMicrosecondType>(values),
            TimeUnit::Nanosecond => moments::<TimestampNanosecondType>(values),
        },
        DataType::Boolean => {
            let what = format!("column `{name}` holds true and false");
            return Err(wrong(what, "give names as text and values as numbers"));
        }
        other => {
            let what = format!("column `{name}` holds {other}, which is neither text nor a number");
            return Err(wrong(what, "leave the column out, or make text or numbers of it"));
        }
    })
}

fn each(values: &dyn Array, text: impl Fn(usize) -> String) -> Vec<String> {
    let entry = |i: usize| if values.is_null(i) { String::new() } else { text(i) };
    (0..values.len()).map(entry).collect()
}

fn of<T: ArrowPrimitiveType>(
    values: &dyn Array,
    text: impl Fn(T::Native) -> String,
) -> Vec<String> {
    let values = values.as_primitive::<T>();
    each(values, |i| text(values.value(i)))
}

fn whole<T: ArrowPrimitiveType>(values: &dyn Array) -> Vec<String>
where
    T::Native: ToString,
{
    of::<T>(values, |number| number.to_string())
}

fn moments<T: ArrowTemporalType>(values: &dyn Array) -> Vec<String>
where
    i64: From<T::Native>,
{
    let values = values.as_primitive::<T>();
    each(values, |i| values.value_as_datetime(i).map_or_else(String::new, |at| at.to_string()))
}
