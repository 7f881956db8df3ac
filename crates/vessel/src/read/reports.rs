//! Rows to reports. A row that does not read is counted, and the first few are kept to be shown.

use std::io::Read;
use std::path::Path;

use backcut_text::escape::plain;

use super::fields::Fields;
use super::input::{Expands, Limits, each_table};
use super::lines::{Line, Lines};
use super::numbers::{danish_time, iso_time, number, unix_time};
use super::schema::{Format, SLOTS, Schema};
use crate::error::AisError;
use crate::report::{Naming, Report};
use crate::source::{BadRow, BadRows};

/// Names longer than this are no names.
const NAME_BYTES: usize = 64;
/// Bad rows that are kept as examples, of each file.
const EXAMPLES: usize = 3;
/// A file with so many rows of which most are bad is not what its header says.
const ENOUGH_ROWS: u64 = 100;

/// What was found in a file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FileRead {
    /// Rows below headers, blank lines not counted.
    pub rows: u64,
    /// Those that do not read.
    pub bad: BadRows,
}

/// Reads every report of a file, unpacking it if need be.
pub fn read_file(
    path: &Path,
    limits: &Limits,
    advance: &mut dyn FnMut(u64),
    take: &mut impl FnMut(&str, Naming, &Report) -> Result<(), AisError>,
) -> Result<FileRead, AisError> {
    let mut found = FileRead::default();
    each_table(path, limits, advance, &mut |table| {
        read_table(path, table, limits, &mut found, take)
    })?;
    if 2 * found.bad.count > found.rows
        && (found.rows >= ENOUGH_ROWS || found.bad.count == found.rows)
    {
        let first = &found.bad.examples[0];
        let problem = format!(
            "{} of {} rows are bad; line {}: {}",
            found.bad.count, found.rows, first.line, first.problem
        );
        return Err(AisError::claims(path, problem));
    }
    Ok(found)
}

/// Reads every report of a table. `path` names it in messages.
pub fn read_table(
    path: &Path,
    table: impl Read,
    limits: &Limits,
    found: &mut FileRead,
    take: &mut impl FnMut(&str, Naming, &Report) -> Result<(), AisError>,
) -> Result<(), AisError> {
    let failed = |error: std::io::Error| match error.get_ref().and_then(|e| e.downcast_ref()) {
        Some(Expands(problem)) => {
            AisError::Bomb { path: path.to_owned(), problem: problem.clone() }
        }
        // What unpacks says so by these kinds; the disk has others.
        None if is_damage(&error) => AisError::claims(path, format!("it is damaged: {error}")),
        None => AisError::Io { path: path.to_owned(), error },
    };
    let mut lines = Lines::new(table, limits.line_bytes);
    let mut fields = Fields::new(limits.line_bytes);
    let schema = match lines.header().map_err(failed)? {
        None => return Err(AisError::claims(path, "it is empty")),
        Some(Line::TooLong) => {
            let problem = format!("its first line has more than {} bytes", limits.line_bytes);
            return Err(AisError::claims(path, problem));
        }
        Some(Line::Whole(line)) => header(path, &mut fields, line)?,
    };
    let naming = if schema.format.has_mmsi() { Naming::Mmsi } else { Naming::Track };
    while let Some(line) = lines.next().map_err(failed)? {
        let row = match line {
            Line::Whole(b"") => continue,
            Line::TooLong => Err("the line is too long".to_owned()),
            Line::Whole(line) => match fields.pick(line, &schema.columns) {
                Some(fields) => report(schema.format, fields),
                None => Err("a quotation mark stays open".to_owned()),
            },
        };
        found.rows += 1;
        match row {
            Ok((vessel, report)) => take(vessel, naming, &report)?,
            Err(problem) => {
                found.bad.count += 1;
                if found.bad.examples.len() < EXAMPLES {
                    let file = path.file_name().unwrap_or_default().to_string_lossy();
                    let file = plain(&file);
                    found.bad.examples.push(BadRow { file, line: lines.number(), problem });
                }
            }
        }
    }
    Ok(())
}

fn is_damage(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | Other | UnexpectedEof)
}

fn header(path: &Path, fields: &mut Fields, line: &[u8]) -> Result<Schema, AisError> {
    if line.starts_with(b"\xFF\xFE") || line.starts_with(b"\xFE\xFF") {
        return Err(AisError::claims(path, "it is UTF-16; convert it to UTF-8"));
    }
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let names = fields.all(line).unwrap_or_default();
    Schema::of(&names).map_err(|error| AisError::claims(path, error.to_string()))
}

/// Takes a row's fields for what the format says.
#[inline]
fn report(format: Format, fields: [&[u8]; SLOTS]) -> Result<(&str, Report), String> {
    let [vessel, time, lat, lon, sog, cog, heading] = fields;
    let name = std::str::from_utf8(vessel.trim_ascii())
        .ok()
        .filter(|name| (1..=NAME_BYTES).contains(&name.len()) && !name.contains(char::is_control))
        .ok_or_else(|| wrong(vessel, "names no vessel"))?;
    let seconds = match format {
        Format::MarineCadastre => iso_time(time),
        Format::Danish => danish_time(time),
        Format::Track => unix_time(time),
    };
    let position =
        |text: &[u8]| number(text).ok().flatten().ok_or_else(|| wrong(text, "is no degree"));
    let other = |text: &[u8]| number(text).map_err(|()| wrong(text, "is no number"));
    Ok((
        name,
        Report {
            time: seconds.ok_or_else(|| wrong(time, "is no time"))?,
            lat: position(lat)?,
            lon: position(lon)?,
            sog: other(sog)?,
            cog: other(cog)?,
            heading: other(heading)?,
        },
    ))
}

#[cold]
fn wrong(text: &[u8], problem: &str) -> String {
    let shown = String::from_utf8_lossy(&text[..text.len().min(40)]);
    format!("`{}` {problem}", plain(&shown))
}
