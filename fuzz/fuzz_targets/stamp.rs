//! Any bytes as the response of a time-stamping authority: read or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = backcut_ledger::timestamp::read(bytes) {
        assert!(!read.authority.is_empty());
    }
});
