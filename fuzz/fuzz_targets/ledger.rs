//! Any bytes as a ledger: refused with the broken line, or entries that hash to what they state.
//! Lines are sealed anew too, so that what lies behind the hashes is reached.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use backcut_files::{Hash, canonical_value};

use backcut_evidence::ledger::{Ledger, LedgerError};
use serde_json::Value;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    folder.join(format!("backcut-fuzz-{}.jsonl", std::process::id()))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Some(forged) = sealed(bytes) {
        check(forged.as_bytes());
    }
});

fn check(bytes: &[u8]) {
    fs::write(&*FILE, bytes).expect("the file can be written");
    match Ledger::open(&*FILE) {
        Ok(ledger) => {
            for entry in ledger.entries() {
                let text = entry.sealed_text().expect("an entry is JSON");
                assert_eq!(Hash::of(text.as_bytes()), entry.hash);
                let study = entry.frozen().map_or("none", |frozen| &frozen.study);
                let _ = ledger.drawn(study, 3);
            }
            assert!(ledger.verify_all(None).is_sound());
        }
        Err(LedgerError::Broken { line, .. }) => assert!(line > 0),
        Err(error) => panic!("{error}"),
    }
}

/// The lines with the index, predecessor and hash that belong there.
fn sealed(bytes: &[u8]) -> Option<String> {
    let (mut text, mut previous) = (String::new(), Hash::ZERO);
    for (i, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let Ok(Value::Object(mut entry)) = serde_json::from_slice(line) else { break };
        entry.insert("index".into(), i.into());
        entry.insert("previous".into(), previous.to_string().into());
        entry.remove("hash");
        previous = Hash::of(canonical_value(&entry.clone().into()).as_bytes());
        entry.insert("hash".into(), previous.to_string().into());
        text += &canonical_value(&entry.into());
        text.push('\n');
    }
    (!text.is_empty()).then_some(text)
}
