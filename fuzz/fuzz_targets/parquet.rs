//! Any bytes that begin and end as Parquet: a table or an error, whatever the reader of Parquet
//! thinks of them.
#![no_main]

use backcut_stats::{Layout, SourceTable};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = SourceTable::from_bytes(bytes, &Layout::default());
    // Most damage takes the signature away, and with it all that could go wrong.
    let whole = [b"PAR1", bytes, b"PAR1"].concat();
    let _ = SourceTable::from_bytes(&whole, &Layout::default());
});
