//! Whatever is done to a line, it is found, and the line is named.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;
use std::path::PathBuf;

use backcut_files::{Hash, canonical};

use backcut_evidence::ledger::{Fault, Ledger, LedgerError, Level, VERSION, verify};
use common::{three_entries, utc};
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

struct Fixture {
    _folder: TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    three_entries(&path);
    let bytes = fs::read(&path).unwrap();
    Fixture { _folder: folder, path, bytes }
}

impl Fixture {
    fn broken(&self, bytes: &[u8]) -> (usize, Fault) {
        fs::write(&self.path, bytes).unwrap();
        match Ledger::open(&self.path) {
            Err(LedgerError::Broken { line, fault, .. }) => (line, *fault),
            other => panic!("not found to be broken: {other:?}"),
        }
    }

    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.bytes.clone()).unwrap().lines().map(str::to_owned).collect()
    }
}

fn joined(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.bytes().chain([b'\n'])).collect()
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].split(|byte| *byte == b'\n').count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_other_byte_anywhere_is_found(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        thread_local!(static FIXTURE: Fixture = fixture());
        FIXTURE.with(|fixture| {
            let mut bytes = fixture.bytes.clone();
            let at = at.index(bytes.len());
            if bytes[at] == value {
                return;
            }
            let line = line_of(&bytes, at);
            bytes[at] = value;
            fs::write(&fixture.path, &bytes).unwrap();
            let report = verify(&fixture.path).unwrap();
            assert!(!report.is_sound());
            assert_eq!((report.findings[0].level, report.findings[0].line), (Level::Fault, line));
        });
    }
}

#[test]
fn a_missing_doubled_swapped_or_foreign_line_is_named() {
    let fixture = fixture();
    let lines = fixture.lines();
    let with = |order: &[usize]| {
        let lines: Vec<String> = order.iter().map(|i| lines[*i].clone()).collect();
        fixture.broken(&joined(&lines))
    };
    assert!(matches!(with(&[1, 2]), (1, Fault::Index { found: 1, expected: 0 })));
    assert!(matches!(with(&[0, 2]), (2, Fault::Index { found: 2, expected: 1 })));
    assert!(matches!(with(&[0, 0, 1, 2]), (2, Fault::Index { found: 0, expected: 1 })));
    assert!(matches!(with(&[0, 2, 1]), (2, Fault::Index { .. })));
    let empty = [&b"\n"[..], &fixture.bytes].concat();
    assert!(matches!(fixture.broken(&empty), (1, Fault::NotJson(_))));

    // An entry of another ledger, sound by itself.
    let other = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(other.path().join("ledger.jsonl")).unwrap();
    for (minute, name) in ["X", "Y"].iter().enumerate() {
        let study = common::study(name, &["x"], &[]);
        ledger.append(utc(minute as u64), backcut_evidence::ledger::Body::Freeze(study)).unwrap();
    }
    let foreign = fs::read_to_string(ledger.path()).unwrap().lines().nth(1).unwrap().to_owned();
    let mixed = joined(&[lines[0].clone(), foreign]);
    assert!(matches!(fixture.broken(&mixed), (2, Fault::Previous { .. })));
}

/// Changes one field and, as a careful forger would, recomputes the entry's own hash.
fn forged(line: &str, change: impl Fn(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap();
    change(&mut value);
    value.as_object_mut().unwrap().remove("hash");
    let hash = Hash::of(canonical(&value).unwrap().as_bytes());
    value["hash"] = hash.to_string().into();
    canonical(&value).unwrap()
}

#[test]
fn a_forged_entry_breaks_the_line_after_it() {
    let fixture = fixture();
    let mut lines = fixture.lines();
    lines[1] = forged(&lines[1], |entry| entry["utc"] = "2020-01-01T00:00:00Z".into());
    let (line, fault) = fixture.broken(&joined(&lines));
    assert!(matches!((line, &fault), (3, Fault::Previous { .. })), "{line}: {fault}");
}

#[test]
fn what_cannot_be_an_entry_is_refused_for_its_own_reason() {
    let fixture = fixture();
    let fault_of = |change: &dyn Fn(&mut Value)| {
        let mut lines = fixture.lines();
        lines[2] = forged(&lines[2], change);
        let (line, fault) = fixture.broken(&joined(&lines));
        assert_eq!(line, 3);
        fault.to_string()
    };
    let newer = fault_of(&|entry| {
        entry["version"] = 7.into();
        entry["new in seven"] = true.into();
    });
    assert!(newer.contains("version 7") && newer.contains("newer"), "{newer}");
    assert!(fault_of(&|entry| entry["version"] = 0.into()).contains("no version 0"));
    assert!(fault_of(&|entry| entry["note"] = "hello".into()).contains("unknown field `note`"));
    assert!(fault_of(&|entry| entry["body"]["frozen"]["x"] = 1.into()).contains("`x`"));
    assert!(fault_of(&|entry| entry["body"]["x"] = 1.into()).contains("`x`"));
    assert!(fault_of(&|entry| entry["body"]["kind"] = "edit".into()).contains("`edit`"));
    assert!(fault_of(&|entry| entry["body"]["reason"] = " ".into()).contains("no reason"));
    let zero = Hash::ZERO.to_string();
    let other = fault_of(&|entry| entry["body"]["amends"] = zero.clone().into());
    assert!(other.contains("latest entry of study `C5`"), "{other}");
    let text = fault_of(&|entry| entry["body"]["frozen"]["canonical"] = "{}".into());
    assert!(text.contains("does not have the hash"), "{text}");
    let twice = fault_of(&|entry| {
        let unit = entry["body"]["frozen"]["new"][0].clone();
        let content = Hash::ZERO.to_string();
        entry["body"]["frozen"]["reused"] = serde_json::json!([{"unit": unit, "content": content}]);
    });
    assert!(twice.contains("listed twice"), "{twice}");
    let order = fault_of(&|entry| {
        entry["body"]["frozen"]["new"].as_array_mut().unwrap().reverse();
    });
    assert!(order.contains("`new`"), "{order}");
    let (a, b) = (Hash::of(b"a").to_string(), Hash::of(b"b").to_string());
    let reused = serde_json::json!({"unit": a, "content": b});
    for (list, item) in
        [("new", a.clone().into()), ("reused", reused), ("existing", a.into()), ("known", b.into())]
    {
        let repeats = fault_of(&|entry| {
            entry["body"]["frozen"][list] = serde_json::json!([item, item]);
        });
        assert!(repeats.contains(&format!("`{list}`")), "{list}: {repeats}");
    }
}

#[test]
fn entries_of_the_first_version_are_read() {
    let fixture = fixture();
    let mut lines = fixture.lines();
    lines[2] = forged(&lines[2], |entry| entry["version"] = 1.into());
    fs::write(&fixture.path, joined(&lines)).unwrap();
    let ledger = Ledger::open(&fixture.path).unwrap();
    let versions: Vec<u32> = ledger.entries().iter().map(|entry| entry.version).collect();
    assert_eq!(versions, [VERSION, VERSION, 1]);
}

#[test]
fn the_same_entry_in_another_spelling_is_refused() {
    let fixture = fixture();
    let mut lines = fixture.lines();
    lines[0] = lines[0].replacen("\":", "\": ", 1);
    assert!(matches!(fixture.broken(&joined(&lines)), (1, Fault::Spelling)));
    let crlf = String::from_utf8(fixture.bytes.clone()).unwrap().replace('\n', "\r\n");
    assert!(matches!(fixture.broken(crlf.as_bytes()), (1, Fault::Spelling)));
}

#[test]
fn a_hash_can_be_followed_by_hand() {
    let fixture = fixture();
    let ledger = Ledger::open(&fixture.path).unwrap();
    let mut previous = Hash::ZERO;
    for (line, entry) in fixture.lines().iter().zip(ledger.entries()) {
        let field = format!("\"hash\":\"{}\",", entry.hash);
        let sealed = line.replacen(&field, "", 1);
        assert_eq!(Hash::of(sealed.as_bytes()), entry.hash);
        assert_eq!(entry.sealed_text().unwrap(), sealed);
        assert_eq!(entry.previous, previous);
        previous = entry.hash;
    }
    assert_eq!(ledger.head(), previous);
}
