//! Any bytes as a table of positions: read or refused, never a panic, and every row accounted for.
#![no_main]

use std::path::Path;

use backcut_vessel::read::{FileRead, Limits, read_table};
use backcut_vessel::{Cleaner, Rules};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let limits = Limits::default();
    let rules = Rules { shortest_steps: 2, ..Rules::default() };
    let mut cleaner = Cleaner::new(rules.check().expect("good rules"), limits.vessels);
    let mut found = FileRead::default();
    let mut take = |name: &str, naming, report: &_| cleaner.report(name, naming, report);
    if read_table(Path::new("fuzz"), data, &limits, &mut found, &mut take).is_ok() {
        let (counts, _) = cleaner.finish();
        assert!(counts.adds_up() && counts.read + found.bad.count == found.rows);
    }
});
