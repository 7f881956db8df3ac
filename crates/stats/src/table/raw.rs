//! Bytes to a rectangle of text: a header and rows.
//!
//! Text first, numbers later: whether `2026091701` is a name or a value depends on the column's
//! role, which is not known here.

use crate::error::{StatsError, with_point};

/// A header and rows of text, rectangular.
#[derive(Clone, PartialEq, Debug)]
pub struct RawTable {
    /// Column names, trimmed and distinct.
    pub header: Vec<String>,
    /// Rows, each as long as the header, with the line each one starts on.
    pub rows: Vec<(usize, Vec<String>)>,
}

/// How a text holds columns and numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// Between columns.
    pub separator: u8,
    /// Numbers are written `1,5`.
    pub decimal_comma: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { separator: b',', decimal_comma: false }
    }
}

impl RawTable {
    /// Reads CSV or, by its first four bytes, Parquet.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StatsError> {
        Self::from_bytes_in(bytes, Dialect::default())
    }

    /// The same where text is of another dialect.
    pub fn from_bytes_in(bytes: &[u8], dialect: Dialect) -> Result<Self, StatsError> {
        if bytes.starts_with(b"PAR1") { parquet(bytes) } else { Self::from_text(bytes, dialect) }
    }

    /// Reads comma-separated values with a header; every row must have the header's length.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, StatsError> {
        Self::from_text(bytes, Dialect::default())
    }

    /// Several tables as one, columns by their names; rows are counted through.
    pub fn join(tables: Vec<Self>) -> Result<Self, StatsError> {
        let mut tables = tables.into_iter();
        let mut all = tables.next().ok_or_else(StatsError::no_rows)?;
        for table in tables {
            let place = |name: &String| table.header.iter().position(|h| h == name);
            let places: Option<Vec<usize>> = all.header.iter().map(place).collect();
            let Some(places) = places.filter(|p| p.len() == table.header.len()) else {
                let [one, other] = [&all.header, &table.header].map(|h| h.join(", "));
                let what = format!("the files have different columns: {one}; {other}");
                return Err(StatsError::Unreadable(what));
            };
            let before = all.rows.last().map_or(1, |(line, _)| *line);
            all.rows.extend(table.rows.into_iter().map(|(line, mut row)| {
                let row = places.iter().map(|at| std::mem::take(&mut row[*at])).collect();
                (before + line, row)
            }));
        }
        Ok(all)
    }

    /// Adds a column of one value, unless there is one of that name.
    pub fn add_column(&mut self, name: &str, value: &str) {
        if !self.header.iter().any(|h| h == name) {
            self.header.push(name.to_owned());
            self.rows.iter_mut().for_each(|(_, row)| row.push(value.to_owned()));
        }
    }

    fn from_text(bytes: &[u8], dialect: Dialect) -> Result<Self, StatsError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .flexible(false)
            .delimiter(dialect.separator)
            .from_reader(bytes);
        let unreadable = |error: csv::Error| match error.kind() {
            csv::ErrorKind::UnequalLengths { .. } => StatsError::Ragged(error.to_string()),
            _ => StatsError::Unreadable(error.to_string()),
        };
        let header: Vec<String> =
            reader.headers().map_err(unreadable)?.iter().map(str::to_owned).collect();
        if let [only] = header.as_slice()
            && let Some(separator) = [';', '\t', ','].into_iter().find(|c| only.contains(*c))
        {
            let wanted = match dialect.separator {
                b',' => "a comma".to_owned(),
                other => format!("{:?}", char::from(other)),
            };
            let what = format!("columns are separated by {separator:?} where {wanted} is needed");
            return Err(StatsError::Separator { what, separator });
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = record.position().map_or(0, |p| p.line() as usize);
            let text = |cell: &str| {
                let pointed = if dialect.decimal_comma { with_point(cell) } else { None };
                pointed.unwrap_or_else(|| cell.to_owned())
            };
            rows.push((line, record.iter().map(text).collect()));
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
    let (header, rows) = super::read_parquet::read(bytes)?;
    RawTable { header, rows }.checked()
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
    fn a_dialect_is_read_when_it_is_named() {
        let text = b"seed;arm;value\n1;a, b;1,5\n2;a, b;-2,5e-3\n";
        let dialect = Dialect { separator: b';', decimal_comma: true };
        let raw = RawTable::from_bytes_in(text, dialect).unwrap();
        assert_eq!(raw.rows[0].1, ["1", "a, b", "1.5"]);
        assert_eq!(raw.rows[1].1[2], "-2.5e-3");
        let plain = Dialect { decimal_comma: false, ..dialect };
        assert_eq!(RawTable::from_bytes_in(text, plain).unwrap().rows[0].1[2], "1,5");
        assert!(RawTable::from_bytes_in(b"a,b\n1,2\n", dialect).is_err());
    }

    #[test]
    fn several_tables_are_one() {
        let table = |text: &str| RawTable::from_bytes(text.as_bytes()).unwrap();
        let mut first = table("arm,value\nx,1\n");
        first.add_column("source", "one");
        let mut second = table("value,arm\n2,x\n3,y\n");
        second.add_column("source", "two");
        let all = RawTable::join(vec![first, second]).unwrap();
        assert_eq!(all.rows[1], (4, ["x", "2", "two"].map(str::to_owned).to_vec()));
        assert_eq!(all.rows.len(), 3);
        let odd = vec![table("a,b\n1,2\n"), table("a,c\n1,2\n")];
        assert!(RawTable::join(odd).unwrap_err().to_string().contains("different columns"));
    }

    #[test]
    fn other_separators_are_named() {
        for (bad, separator) in [("seed;a;b\n1;2;3\n", "';'"), ("seed\ta\n1\t2\n", "'\\t'")] {
            let error = RawTable::from_bytes(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("separated by {separator}")), "{error}");
        }
    }
}
