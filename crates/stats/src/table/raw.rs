//! Bytes to a rectangle of text: a header and rows.
//!
//! Text first, numbers later: whether `2026091701` is a name or a value depends on the column's
//! role, which is not known here.

use super::super::error::StatsError;

/// A header and rows of text, rectangular.
#[derive(Clone, PartialEq, Debug)]
pub struct RawTable {
    /// Column names, trimmed and distinct.
    pub header: Vec<String>,
    /// Rows, each as long as the header, with the line each one starts on.
    pub rows: Vec<(usize, Vec<String>)>,
}

impl RawTable {
    /// Reads CSV or, by its first four bytes, Parquet.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StatsError> {
        if bytes.starts_with(b"PAR1") { parquet(bytes) } else { Self::from_csv(bytes) }
    }

    /// Reads comma-separated values with a header; every row must have the header's length.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, StatsError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(false).from_reader(bytes);
        let unreadable = |error: csv::Error| StatsError::Unreadable(error.to_string());
        let header: Vec<String> =
            reader.headers().map_err(unreadable)?.iter().map(str::to_owned).collect();
        if let [only] = header.as_slice()
            && let Some(separator) = [';', '\t'].into_iter().find(|c| only.contains(*c))
        {
            let what = format!("columns are separated by {separator:?} where a comma is needed");
            return Err(StatsError::Unreadable(what));
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = record.position().map_or(0, |p| p.line() as usize);
            rows.push((line, record.iter().map(str::to_owned).collect()));
        }
        Self { header, rows }.checked()
    }

    /// Refuses what no layout can read: no columns, no rows, or two columns of one name.
    pub(super) fn checked(self) -> Result<Self, StatsError> {
        if self.header.iter().all(String::is_empty) {
            return Err(StatsError::Unreadable("there is no header".into()));
        }
        if self.rows.is_empty() {
            return Err(StatsError::no_rows());
        }
        for (i, name) in self.header.iter().enumerate() {
            if self.header[..i].contains(name) {
                return Err(StatsError::Unreadable(format!("two columns are named `{name}`")));
            }
        }
        Ok(self)
    }
}

#[cfg(feature = "parquet")]
fn parquet(bytes: &[u8]) -> Result<RawTable, StatsError> {
    super::read_parquet::read(bytes)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &[u8]) -> Result<RawTable, StatsError> {
    Err(StatsError::Unreadable("it is Parquet, and this build reads CSV alone".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_quotes_spaces_and_a_byte_order_mark() {
        let raw = RawTable::from_bytes(b"\xEF\xBB\xBFseed, a\n 1 ,\"x, y\"\n").unwrap();
        assert_eq!(raw.header, ["seed", "a"]);
        assert_eq!(raw.rows, [(2, vec!["1".to_owned(), "x, y".to_owned()])]);
    }

    #[test]
    fn refuses_ragged_rows_empty_tables_and_twin_columns() {
        for bad in ["", "a,b\n", "a,b\n1\n", "a,a\n1,2\n", "\n\n"] {
            assert!(RawTable::from_bytes(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn other_separators_are_named() {
        for (bad, separator) in [("seed;a;b\n1;2;3\n", "';'"), ("seed\ta\n1\t2\n", "'\\t'")] {
            let error = RawTable::from_bytes(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("separated by {separator}")), "{error}");
        }
    }
}
