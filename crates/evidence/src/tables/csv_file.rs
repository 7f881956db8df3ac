//! Rows to CSV and back.

use std::borrow::Cow;

use backcut_text::escape::lines;

use crate::tables::row::Row;

/// What is wrong with a table.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("row {row}: {problem}")]
pub struct TableError {
    /// The line, the header being 1; 0 for the table as a whole.
    pub row: u64,
    /// What is wrong there.
    pub problem: String,
}

impl From<csv::Error> for TableError {
    fn from(error: csv::Error) -> Self {
        let row = error.position().map_or(0, csv::Position::line);
        Self { row, problem: error.to_string() }
    }
}

/// The rows as CSV below a header, quoted where needed. Characters that would act on a terminal or
/// reorder what surrounds them are shown by their code point.
pub fn to_csv<R: Row>(rows: &[R]) -> Result<Vec<u8>, TableError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(R::COLUMNS.iter().map(|column| column.name))?;
    for row in rows {
        let fields = row.fields();
        let texts = fields.iter().map(|field| harmless(field.as_deref().unwrap_or_default()));
        for text in texts {
            writer.write_field(&*text)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.into_inner().map_err(|error| csv::Error::from(error.into_error()).into())
}

fn harmless(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if is_plain { Cow::Borrowed(text) } else { Cow::Owned(lines(text)) }
}

/// Reads CSV with a header, columns in any order. White space around an entry is not part of it.
pub fn from_csv<R: Row>(bytes: &[u8]) -> Result<Vec<R>, TableError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers()?.clone();
    let mut places = Vec::with_capacity(R::COLUMNS.len());
    for column in R::COLUMNS {
        let find = |wanted: &str| header.iter().position(|name| name == wanted);
        let former = || R::RENAMED.iter().find(|(now, _)| *now == column.name);
        let place = find(column.name).or_else(|| find(former()?.1));
        if place.is_none() && !R::NEWER.contains(&column.name) {
            let problem = format!("there is no column `{}`", column.name);
            return Err(TableError { row: 1, problem });
        }
        places.push(place);
    }
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record)? {
        let text = |place: &Option<usize>| place.and_then(|p| record.get(p)).unwrap_or_default();
        let fields: Vec<&str> = places.iter().map(text).collect();
        rows.push(R::read(&fields).map_err(|wrong| {
            let shown: String = fields[wrong.column].chars().take(40).collect();
            let name = R::COLUMNS[wrong.column].name;
            TableError {
                row: record.position().map_or(0, csv::Position::line),
                problem: format!("`{shown}` in column `{name}` {}", wrong.problem),
            }
        })?);
    }
    Ok(rows)
}
