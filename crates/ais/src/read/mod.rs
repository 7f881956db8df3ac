//! From files to reports: unpacking, lines, fields, headers, numbers.

mod fields;
mod input;
mod lines;
mod numbers;
mod reports;
mod schema;

pub use input::{Limits, Source};
pub use reports::{BadRow, BadRows, FileRead, read_file, read_table};
pub use schema::{Format, HeaderError, Schema};

pub(crate) use input::hash_file;
