//! Segments as the columns of a Parquet file, and back.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use crate::error::AisError;
use crate::segment::{GridPosition, Segment};

/// Rows of a group: what is held in memory while writing.
const GROUP: usize = 1 << 18;

/// Writes segments one after the other.
pub struct TracksWriter {
    file: SerializedFileWriter<File>,
    step_seconds: u32,
    segments: i32,
    rows: Rows,
}

/// Columns of the rows that are not written yet.
#[derive(Default)]
struct Rows {
    vessel: Vec<ByteArray>,
    segment: Vec<i32>,
    time: Vec<i64>,
    lat: Vec<i32>,
    lon: Vec<i32>,
}

impl TracksWriter {
    pub fn new(file: File, step_seconds: u32) -> Result<Self, ParquetError> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(9)?))
            .set_created_by(format!("backcut {}", env!("CARGO_PKG_VERSION")))
            .set_dictionary_enabled(false)
            .set_column_dictionary_enabled(ColumnPath::from("vessel"), true);
        for column in ["segment", "unix_time", "lat_e7", "lon_e7"] {
            let path = ColumnPath::from(column);
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let file = SerializedFileWriter::new(file, schema()?, Arc::new(properties.build()))?;
        Ok(Self { file, step_seconds, segments: 0, rows: Rows::default() })
    }

    pub fn add(&mut self, segment: &Segment) -> Result<(), ParquetError> {
        let vessel = ByteArray::from(segment.vessel.as_str());
        for (i, place) in segment.places.iter().enumerate() {
            self.rows.vessel.push(vessel.clone());
            self.rows.segment.push(self.segments);
            self.rows.time.push(segment.begin + i as i64 * i64::from(self.step_seconds));
            self.rows.lat.push(place.lat_e7);
            self.rows.lon.push(place.lon_e7);
        }
        self.segments += 1;
        if self.rows.time.len() >= GROUP { self.write_group() } else { Ok(()) }
    }

    pub fn finish(mut self) -> Result<File, ParquetError> {
        if !self.rows.time.is_empty() {
            self.write_group()?;
        }
        self.file.into_inner()
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        let mut group = self.file.next_row_group()?;
        for place in 0.. {
            let Some(mut column) = group.next_column()? else { break };
            match place {
                0 => column.typed::<ByteArrayType>().write_batch(&rows.vessel, None, None)?,
                1 => column.typed::<Int32Type>().write_batch(&rows.segment, None, None)?,
                2 => column.typed::<Int64Type>().write_batch(&rows.time, None, None)?,
                3 => column.typed::<Int32Type>().write_batch(&rows.lat, None, None)?,
                _ => column.typed::<Int32Type>().write_batch(&rows.lon, None, None)?,
            };
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

fn schema() -> Result<TypePtr, ParquetError> {
    let column = |name, physical, logical| {
        let column = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        column.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let fields = vec![
        column("vessel", Physical::BYTE_ARRAY, Some(LogicalType::String))?,
        column("segment", Physical::INT32, None)?,
        column("unix_time", Physical::INT64, None)?,
        column("lat_e7", Physical::INT32, None)?,
        column("lon_e7", Physical::INT32, None)?,
    ];
    Ok(Arc::new(Type::group_type_builder("tracks").with_fields(fields).build()?))
}

/// Reads what [`TracksWriter`] wrote, believing nothing.
pub fn read(path: &Path, step_seconds: u32) -> Result<Vec<Segment>, AisError> {
    let file = File::open(path).map_err(AisError::io(path))?;
    let bad = |error: ParquetError| AisError::store(path, error);
    let reader = SerializedFileReader::new(file).map_err(bad)?;
    let want = schema().map_err(bad)?;
    let found = reader.metadata().file_metadata().schema_descr().root_schema();
    if found.get_fields() != want.get_fields() {
        return Err(AisError::store(path, "its columns are not those of a store"));
    }
    let mut segments: Vec<Segment> = Vec::new();
    let mut number = -1;
    for i in 0..reader.num_row_groups() {
        let group = reader.get_row_group(i).map_err(bad)?;
        let rows = rows_of(group.as_ref()).map_err(bad)?;
        for row in 0..rows.time.len() {
            let place = GridPosition { lat_e7: rows.lat[row], lon_e7: rows.lon[row] };
            if !place.is_valid() {
                return Err(AisError::store(path, "a place is not on the globe"));
            }
            let name = rows.vessel[row].as_utf8().map_err(bad)?;
            if rows.segment[row] == number + 1 {
                number += 1;
                let (vessel, begin) = (name.to_owned(), rows.time[row]);
                segments.push(Segment { vessel, begin, places: vec![place] });
                continue;
            }
            let Some(open) = segments.last_mut().filter(|open| {
                let time = open.end(step_seconds).checked_add(i64::from(step_seconds));
                rows.segment[row] == number && open.vessel == name && time == Some(rows.time[row])
            }) else {
                return Err(AisError::store(path, "a row does not follow the one before it"));
            };
            open.places.push(place);
        }
    }
    Ok(segments)
}

fn rows_of(group: &dyn RowGroupReader) -> Result<Rows, ParquetError> {
    let n = usize::try_from(group.metadata().num_rows())
        .map_err(|_| ParquetError::General("a negative number of rows".into()))?;
    let mut rows = Rows::default();
    let (mut vessel, mut ints) = (Vec::new(), Vec::new());
    for column in 0..5 {
        let read = match group.get_column_reader(column)? {
            ColumnReader::ByteArrayColumnReader(mut r) => {
                r.read_records(n, None, None, &mut vessel)?.0
            }
            ColumnReader::Int64ColumnReader(mut r) => {
                r.read_records(n, None, None, &mut rows.time)?.0
            }
            ColumnReader::Int32ColumnReader(mut r) => {
                let mut values = Vec::new();
                let read = r.read_records(n, None, None, &mut values)?.0;
                ints.push(values);
                read
            }
            _ => 0,
        };
        if read != n {
            return Err(ParquetError::General("a column is shorter than its group".into()));
        }
    }
    rows.vessel = vessel;
    let mut ints = ints.into_iter();
    rows.segment = ints.next().unwrap_or_default();
    rows.lat = ints.next().unwrap_or_default();
    rows.lon = ints.next().unwrap_or_default();
    Ok(rows)
}
