//! A kill inside a write costs nothing, damage is never removed, and writers do not overtake.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;
use std::io::Write;
use std::sync::Barrier;

use backcut_files::Hash;

use backcut_evidence::ledger::{Body, Ledger, LedgerError, Level, RuleError, Status};
use common::{amendment, asking, contrast, study, three_entries, unit, utc};

#[test]
fn a_missing_file_is_an_empty_ledger_and_a_missing_folder_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!((ledger.head(), ledger.entries().len()), (Hash::ZERO, 0));
    assert!(!path.exists(), "looking creates nothing");
    let mut nowhere = Ledger::open(folder.path().join("no/ledger.jsonl")).unwrap();
    let error = nowhere.append(utc(0), Body::Freeze(study("A", &[], &[]))).unwrap_err();
    assert!(error.to_string().contains("cannot be opened for appending"), "{error}");
    let error = Ledger::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("cannot be opened"), "{error}");
}

#[test]
fn entries_are_found_by_hash_and_study_and_stand_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let written = three_entries(&path);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.entries(), written.entries());
    let hash: Vec<Hash> = ledger.entries().iter().map(|entry| entry.hash).collect();
    assert_eq!(ledger.freezing_entry("C5").unwrap().index, 0);
    assert_eq!(ledger.latest_entry("C5").unwrap().index, 2);
    assert!(ledger.freezing_entry("C7").is_none());
    for (i, a) in hash.iter().enumerate() {
        assert!(ledger.contains(*a) && ledger.entry(*a).unwrap().index == i as u64);
        for (j, b) in hash.iter().enumerate() {
            assert_eq!(ledger.is_ancestor(*a, *b), i <= j);
        }
        assert!(ledger.is_ancestor(Hash::ZERO, *a) && !ledger.is_ancestor(*a, Hash::ZERO));
        assert!(!ledger.is_ancestor(*a, unit("x")) && !ledger.is_ancestor(unit("x"), *a));
    }
}

#[test]
fn a_kill_after_any_byte_of_a_line_is_repaired_by_the_next_append() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    three_entries(&path);
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for length in last + 1..whole.len() - 1 {
        fs::write(&path, &whole[..length]).unwrap();
        let mut ledger = Ledger::open(&path).unwrap();
        let torn = ledger.torn().expect("a fragment is reported");
        assert_eq!((torn.line, torn.bytes, torn.whole), (3, length - last, false));
        assert_eq!(ledger.entries().len(), 2);
        assert_eq!(fs::read(&path).unwrap(), &whole[..length], "looking repairs nothing");
        if !(length - last).is_multiple_of(16) && length + 2 < whole.len() {
            continue; // every append syncs, which some disks take their time for
        }
        let amended = study("C5", &["a", "b", "d"], &[contrast("H1"), contrast("H3")]);
        let body = amendment(&ledger, amended);
        ledger.append(utc(2), body).unwrap();
        assert_eq!(ledger.torn(), None);
        assert_eq!(fs::read(&path).unwrap(), whole, "as if nothing had happened");
    }
}

#[test]
fn an_entry_that_only_lacks_its_line_end_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let head = three_entries(&path).head();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let mut ledger = Ledger::open(&path).unwrap();
    assert!(ledger.torn().unwrap().whole);
    assert_eq!(ledger.head(), head);
    let report = ledger.verify_all();
    assert!(report.is_sound());
    assert!(report.findings.iter().any(|f| f.level == Level::Note && f.what.contains("no end")));
    ledger.append(utc(3), Body::Freeze(study("D", &[], &[]))).unwrap();
    assert!(fs::read(&path).unwrap().starts_with(&whole));
    assert_eq!(Ledger::open(&path).unwrap().entries().len(), 4);
}

#[test]
fn damage_is_never_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = three_entries(&path);
    let whole = fs::read(&path).unwrap();
    // A whole line that does not parse, and unended ones that are no beginning of an entry.
    for damage in [&b"{\"body\":{\n"[..], b"hello", b"{\"hello\":", b"{\"body\":{]", b"\0\0"] {
        let bytes = [&whole, damage].concat();
        fs::write(&path, &bytes).unwrap();
        let line = |error| match error {
            LedgerError::Broken { line, .. } => line,
            other => panic!("{other}"),
        };
        assert_eq!(line(Ledger::open(&path).unwrap_err()), 4);
        let body = Body::Freeze(study("D", &[], &[]));
        assert_eq!(line(ledger.append(utc(3), body).unwrap_err()), 4);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn who_decided_on_older_entries_must_decide_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let (mut one, mut two) = (Ledger::open(&path).unwrap(), Ledger::open(&path).unwrap());
    let first = one.append(utc(0), Body::Freeze(study("A", &["a"], &[]))).unwrap();
    let error = two.append(utc(0), Body::Freeze(study("A", &["b"], &[]))).unwrap_err();
    assert!(
        matches!(error, LedgerError::Moved { expected: Hash::ZERO, found, .. } if found == first)
    );
    let mut two = Ledger::open(&path).unwrap();
    let error = two.append(utc(0), Body::Freeze(study("A", &["b"], &[]))).unwrap_err();
    assert!(matches!(error, LedgerError::Rule(RuleError::FrozenAlready { index: 0, .. })));
    assert_eq!(Ledger::open(&path).unwrap().entries().len(), 1);
}

#[test]
fn rivals_that_open_again_all_get_their_entry_into_one_chain() {
    const WRITERS: usize = 4;
    const EACH: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let start = Barrier::new(WRITERS);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (path, start) = (&path, &start);
            scope.spawn(move || {
                start.wait();
                for i in 0..EACH {
                    let name = format!("study {writer} {i}");
                    loop {
                        let mut ledger = Ledger::open(path).unwrap();
                        assert_eq!(ledger.torn(), None, "a reader saw half a line");
                        match ledger.append(utc(0), Body::Freeze(study(&name, &["u"], &[]))) {
                            Ok(_) => break,
                            Err(LedgerError::Moved { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(Ledger::open(&path).unwrap().entries().len(), WRITERS * EACH);
}

#[test]
fn a_reader_waits_for_the_writer_and_never_sees_half_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    three_entries(&path);
    let whole = fs::read(&path).unwrap();
    let (half, rest) = whole.split_at(whole.len() - 100);
    let mut writer = fs::File::create(&path).unwrap();
    writer.lock().unwrap();
    writer.write_all(half).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| Ledger::open(&path).unwrap());
        // Only gives a reader that does not wait the time to go wrong.
        std::thread::sleep(std::time::Duration::from_millis(50));
        writer.write_all(rest).unwrap();
        writer.unlock().unwrap();
        let ledger = reader.join().unwrap();
        assert_eq!((ledger.torn(), ledger.entries().len()), (None, 3));
    });
}

#[test]
fn thousands_of_units_are_one_entry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = Ledger::open(&path).unwrap();
    let names: Vec<String> = (0..5000).map(|i| format!("unit {i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    ledger.append(utc(0), Body::Freeze(study("large", &names, &[contrast("H")]))).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let (_, frozen) = ledger.entries_of("large").next().unwrap();
    assert_eq!(frozen.units(), 5000);
    assert!(frozen.new.is_sorted() && frozen.new.contains(&unit("unit 4999")));
}

#[test]
fn a_clock_that_jumps_back_is_noted_and_breaks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = Ledger::open(&path).unwrap();
    for (minute, name) in [(5, "A"), (3, "B"), (3, "C")] {
        ledger.append(utc(minute), Body::Freeze(study(name, &[], &[]))).unwrap();
    }
    let report = Ledger::open(&path).unwrap().verify_all();
    assert!(report.is_sound());
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((finding.level, finding.line), (Level::Note, 2));
    assert!(finding.what.contains("is before"), "{}", finding.what);
}

#[test]
fn what_an_amendment_did_to_contrasts_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path().join("ledger.jsonl")).unwrap();
    let before = [contrast("kept"), contrast("gone"), contrast("bent"), contrast("tamed")];
    let frozen = study("A", &["a"], &before);
    ledger.append(utc(0), Body::Freeze(frozen)).unwrap();
    let mut bent = contrast("bent");
    bent.direction = Some("negative".into());
    let tamed = asking("tamed", Status::Descriptive);
    let amended = study("A", &["a"], &[contrast("kept"), bent, tamed, contrast("late")]);
    let body = amendment(&ledger, amended);
    ledger.append(utc(1), body).unwrap();
    let notes: Vec<_> = ledger.verify_all().findings.into_iter().map(|f| f.what).collect();
    let want = [
        "`gone` was dropped",
        "`bent` was reworded",
        "`tamed` was given another status to ask",
        "`late` was added",
    ];
    assert_eq!(notes.len(), want.len(), "{notes:?}");
    assert!(notes.iter().zip(want).all(|(note, want)| note.ends_with(want)), "{notes:?}");
}
