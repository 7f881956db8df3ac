//! From files to reports: unpacking, lines, fields, headers, numbers.

mod fields;
mod input;
mod lines;
mod numbers;
mod reports;
mod schema;

pub use crate::source::{BadRow, BadRows, Source};
pub use input::Limits;
pub use reports::{FileRead, read_file, read_table};
pub use schema::{Format, HeaderError, Schema};
