//! Any text either parses as a contrast or is an error; what parses prints to something that parses
//! to the same.
#![no_main]

use backcut_stats::{Contrast, Layout, SourceTable};
use libfuzzer_sys::fuzz_target;

const TABLE: &[u8] = b"seed,a,b,FF@0.0,FF@0.1,FD@0.0,FD@0.1,0.1,0.2\n\
    1,1,2,3,4,5,6,7,8\n2,0,-1,1e300,2,x,,1,2\n3,1,1,1,1,1,1,1,1\n4,2,3,4,5,6,7,8,9\n";

fuzz_target!(|text: &str| {
    let Ok(contrast) = Contrast::parse(text) else { return };
    let again = Contrast::parse(&contrast.to_string());
    assert_eq!(again.as_ref().map(|c| &c.body), Ok(&contrast.body));
    let Ok(table) = SourceTable::from_csv(TABLE, &Layout::default()) else { return };
    if let Ok(evaluated) = contrast.evaluate(&table) {
        assert!(evaluated.values.iter().all(|v| v.is_finite()));
    }
});
