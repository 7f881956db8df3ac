//! A folder of tracks that others can open: Parquet beside a manifest.
//!
//! | file | holds |
//! | --- | --- |
//! | `tracks.parquet` | a row per place: `vessel`, `segment`, `unix_time`, `lat_e7`, `lon_e7` |
//! | `reserved.parquet` | the same of the reserved vessels |
//! | `store.json` | format, step, hashes, rules, counts, sources; written last |
//!
//! Rows are ordered by vessel and time whatever the order of the files was, so the same positions
//! give the same bytes. What names the data is a hash of the content, whatever the compression;
//! hashes of the files stand beside it, because the Parquet reader panics on damaged ones and must
//! not see them.

mod columns;
mod manifest;
mod reader;
mod writer;

pub use manifest::{Funnel, Manifest};
pub use reader::{open, read_manifest};
pub use writer::StoreWriter;

const TRACKS: &str = "tracks.parquet";
const RESERVED: &str = "reserved.parquet";
const FORMAT: u32 = 1;
