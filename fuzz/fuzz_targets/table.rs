//! Any bytes either become a table or are an error; whatever cell they hold, a family on it does
//! not panic.
#![no_main]

use backcut_stats::{Contrast, FamilyParams, Layout, SourceTable, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(table) = SourceTable::from_bytes(bytes, &Layout::default()) else { return };
    let contrasts: Vec<Contrast> = table.cell_names().take(3).map(Contrast::column).collect();
    let params = FamilyParams { draws: 1000, patterns: 100, ..FamilyParams::new(contrasts) };
    if let Ok(report) = params.check().and_then(|family| family.run(&table)) {
        assert!(!text::render(&report, "fuzz").is_empty());
    }
});
