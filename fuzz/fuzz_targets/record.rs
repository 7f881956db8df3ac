//! Any bytes as a record, sealed or not: refused, or read and written again to what reads to the
//! same.
#![no_main]

use std::path::Path;

use backcut_files::Hash;
use backcut_study::record::Record;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz");
    let _ = Record::read(path, bytes);
    // A seal is no secret: whoever forges a record seals it.
    let seal = Hash::of(bytes);
    let sealed = [bytes, format!("\n{seal}\n").as_bytes()].concat();
    let Ok(record) = Record::read(path, &sealed) else { return };
    let again = record.to_bytes().expect("a record that was read can be written");
    let again = Record::read(path, &again).expect("a record that was written reads back");
    assert_eq!(again.content, record.content);
});
