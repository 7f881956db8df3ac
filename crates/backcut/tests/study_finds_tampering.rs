//! A changed byte anywhere in a results folder is found, named, and ends `verify` with 1.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;
use std::path::Path;

use backcut_study::record::{Outcome, Record};
use backcut_study::{Recorded, Store};
use common::study::{StudyFolder, change_a_byte, ending, family, tiny};

fn desk() -> StudyFolder {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 20, &family("confirmatory")));
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --jobs 2");
    let seen = desk.backcut("study collect s.toml --out out");
    assert!([0, 1].contains(&seen.code), "{}", seen.err);
    desk
}

#[track_caller]
fn is_found(desk: &StudyFolder, path: &Path, words: &str) {
    let good = fs::read(path).unwrap();
    change_a_byte(path);
    let said = desk.ends(1, "study verify out");
    let name = path.file_name().unwrap().to_str().unwrap();
    let line = said.lines().find(|l| l.starts_with("problem: ") && l.contains(name));
    assert!(line.is_some_and(|l| l.contains(words)), "{name}: {said}");
    fs::write(path, good).unwrap();
}

#[test]
fn one_changed_byte_is_found_and_its_file_named() {
    let desk = desk();
    let out = desk.path("out");
    let said = desk.fine("study verify out");
    assert!(said.contains("1 ledger entries, 8 records, "), "{said}");
    assert!(said.contains(": sound"), "{said}");
    let records = ending(&out, ".done.json");
    assert_eq!(records.len(), 8);
    for record in records.iter().step_by(3) {
        is_found(&desk, record, "its seal does not match its content");
    }
    let checkpoints = ending(&out, ".safetensors");
    is_found(&desk, &checkpoints[0], "changed since the record was made");
    is_found(&desk, checkpoints.last().unwrap(), "changed since the record was made");
    is_found(&desk, &ending(&out, "log.bin")[0], "changed since the record was made");
    is_found(&desk, &out.join("ledger.jsonl"), "line 1");
    is_found(&desk, &out.join("studies/s.json"), "");
    for table in fs::read_dir(out.join("tables/s")).unwrap().flatten() {
        let name = table.file_name();
        let is_list = name == "SHA256SUMS";
        if !is_list {
            is_found(&desk, &table.path(), "changed since it was collected");
        }
    }
    assert!(desk.fine("study verify out").contains(": sound"));
    // The tables alone, as they are handed on.
    assert!(desk.fine("study verify out/tables").contains("1 ledger entries, 0 records"));
    assert!(desk.fine("study verify out/tables/s").contains("sound"));
    let said = desk.ends(2, "study verify out/units");
    assert!(said.contains("holds no results"), "{said}");
}

#[test]
fn swapped_and_lost_files_are_found() {
    let desk = desk();
    let out = desk.path("out");
    let records = ending(&out, ".done.json");
    let good = fs::read(&records[0]).unwrap();
    fs::copy(&records[1], &records[0]).unwrap();
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("it is the record of another unit"), "{said}");
    let said = desk.ends(2, "study collect s.toml --out out");
    assert!(said.contains("it is the record of another unit"), "{said}");
    fs::write(&records[0], good).unwrap();
    fs::remove_file(out.join("ledger.jsonl")).unwrap();
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("it ran under a head that is not in the ledger"), "{said}");
}

#[test]
fn a_replay_gives_the_same_bits() {
    let desk = desk();
    let said = desk.fine("study replay out --sample 5 --seed 3");
    assert_eq!(said.matches("the same bits").count(), 5, "{said}");
    assert!(said.contains("5 of 5 replayed units came out the same, bit by bit"), "{said}");
}

#[test]
fn a_forged_record_with_good_seals_is_found_by_a_replay() {
    let desk = desk();
    let store = Store::new(desk.path("out"));
    let units = desk.rows("out", "s", "units.csv");
    let id = units[0].get("unit").parse().unwrap();
    let mut forged = Record::load(&store, &id, Recorded::Done).unwrap();
    let Outcome::Trained { evaluations, .. } = &mut forged.outcome else { panic!("trained") };
    let last = evaluations.last_mut().unwrap();
    for error in &mut last.errors {
        *error *= 0.5;
    }
    last.mean *= 0.5;
    let Record { definition, outcome, head, files, seconds, .. } = forged;
    let mut forged = Record::new(definition, outcome, head);
    (forged.files, forged.seconds) = (files, seconds);
    forged.save(&store).unwrap();
    // Every hash is right, but the tables are not what it gives; collected again, only the computation
    // itself can tell.
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("endpoints.csv: line 2 is not what the records give"), "{said}");
    desk.backcut("study collect s.toml --out out");
    assert!(desk.fine("study verify out").contains(": sound"));
    let said = desk.ends(1, "study replay out --sample 100");
    assert!(
        said.contains(&format!("{}  DIFFERENT: the result differs", &id.to_string()[..12])),
        "{said}"
    );
    assert!(said.contains("7 of 8 replayed units came out the same"), "{said}");
}
