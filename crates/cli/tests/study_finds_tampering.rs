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
    assert!(said.contains("1 ledger entry, 8 records, "), "{said}");
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
    assert!(desk.fine("study verify out/tables").contains("1 ledger entry, 0 records"));
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
    // Every hash is right, but the tables are not what it gives; collected again, only the
    // computation itself can tell.
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("observations.csv: line 5 is not what the records give"), "{said}");
    desk.backcut("study collect s.toml --out out");
    assert!(desk.fine("study verify out").contains(": sound"));
    let said = desk.ends(1, "study replay out --sample 100");
    assert!(
        said.contains(&format!("{}  DIFFERENT: the result differs", &id.to_string()[..12])),
        "{said}"
    );
    assert!(said.contains("7 of 8 replayed units came out the same"), "{said}");
}

/// Writes the checksums of a folder anew, as whoever changed a table would.
fn sum_again(folder: &Path) {
    let sums = folder.join("SHA256SUMS");
    let text = fs::read_to_string(&sums).unwrap();
    let names = text.lines().map(|line| line.split_once("  ").unwrap().1);
    let line = |name: &str| {
        let bytes = fs::read(folder.join(name)).unwrap();
        format!("{}  {name}\n", backcut_files::Hash::of(&bytes))
    };
    fs::write(&sums, names.map(line).collect::<String>()).unwrap();
}

/// Tries a change, which must be found with these words, and takes it back.
#[track_caller]
fn change_is_found(
    desk: &StudyFolder,
    root: &str,
    file: &str,
    change: impl Fn(&Path),
    words: &str,
) {
    let path = desk.path(root).join(file);
    let good = fs::read(&path).ok();
    let sums = desk.path(root).join("tables/s/SHA256SUMS");
    let good_sums = fs::read(&sums).ok();
    change(&path);
    let said = desk.ends(1, &format!("study verify {root}"));
    assert!(said.lines().any(|l| l.starts_with("problem: ") && l.contains(words)), "{said}");
    match good {
        Some(bytes) => fs::write(&path, bytes).unwrap(),
        None => fs::remove_file(&path).unwrap(),
    }
    if let Some(bytes) = good_sums {
        fs::write(&sums, bytes).unwrap();
    }
    desk.fine(&format!("study verify {root}"));
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn tables_are_held_to_the_records_and_not_only_to_their_checksums() {
    let desk = desk();
    let folder = desk.path("out/tables/s");
    let claim = |path: &Path| replace(path, "[F_SG@0.20] - [FF@0.20]", "[F_SG@0.20] - [FF@0.2]");
    // Its line removed from the checksums, the checksums deleted, the checksums made again.
    let unlist = |path: &Path| {
        claim(path);
        let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
        let kept: Vec<&str> = sums.lines().filter(|line| !line.ends_with("analysis.csv")).collect();
        fs::write(folder.join("SHA256SUMS"), kept.join("\n") + "\n").unwrap();
    };
    let wrong = "not what the results give";
    change_is_found(&desk, "out", "tables/s/analysis.csv", unlist, "SHA256SUMS does not list it");
    change_is_found(&desk, "out", "tables/s/analysis.csv", unlist, wrong);
    let delete = |_: &Path| fs::remove_file(folder.join("SHA256SUMS")).unwrap();
    change_is_found(&desk, "out", "tables/s/about.json", delete, "SHA256SUMS: ");
    let again = |path: &Path| {
        claim(path);
        sum_again(&folder);
    };
    change_is_found(&desk, "out", "tables/s/analysis.csv", again, wrong);
    let better = |path: &Path| {
        replace(path, ",done,", ",failed,");
        sum_again(&folder);
    };
    let wrong = "line 2 is not what the records give";
    change_is_found(&desk, "out", "tables/s/observations.csv", better, wrong);
    let fewer = |path: &Path| {
        replace(path, "\"done\": 8", "\"done\": 7");
        sum_again(&folder);
    };
    change_is_found(&desk, "out", "tables/s/about.json", fewer, "unit states is");
}

#[test]
fn a_status_that_was_typed_in_is_found_with_and_without_records() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 20, &family("post hoc")));
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --jobs 2");
    desk.backcut("study collect s.toml --out out");
    let folder = desk.path("out/tables/s");
    replace(&folder.join("analysis.csv"), ",post hoc,", ",confirmatory,");
    sum_again(&folder);
    for root in ["out", "out/tables"] {
        let said = desk.ends(1, &format!("study verify {root}"));
        let wrong = "cost: R: it says confirmatory, and the ledger grants post hoc: ";
        assert!(said.contains(wrong), "{said}");
    }
}

#[test]
fn tables_that_are_handed_on_are_held_to_each_other() {
    let desk = desk();
    fs::rename(desk.path("out/tables"), desk.path("published")).unwrap();
    desk.fine("study verify published");
    let folder = desk.path("published/s");
    let numbers = folder.join("observations.csv");
    let good = fs::read(&numbers).unwrap();
    replace(&numbers, ",20,error,,,0.", ",20,error,,,1.");
    sum_again(&folder);
    let said = desk.ends(1, "study verify published");
    assert!(said.contains("analysis.csv: cost: R: not what the results give"), "{said}");
    fs::write(&numbers, good).unwrap();
    replace(&numbers, ",0.20,", ",0.02,");
    sum_again(&folder);
    let said = desk.ends(1, "study verify published");
    assert!(said.contains("observations.csv: line 2 is not what the other tables give"), "{said}");
}

#[test]
fn what_lies_in_the_folder_and_is_listed_nowhere_is_found() {
    let desk = desk();
    let write = |text: &'static str| move |path: &Path| fs::write(path, text).unwrap();
    let ledger = |path: &Path| replace(path, "confirmatory", "prespecified");
    let copied = "not a copy of the folder's ledger";
    change_is_found(&desk, "out", "tables/ledger.jsonl", ledger, copied);
    let odd = "SHA256SUMS does not list it";
    change_is_found(&desk, "out", "tables/s/extra.csv", write("a,b\n"), odd);
    let record = ending(&desk.path("out/units"), ".done.json").remove(0);
    let beside = record.to_string_lossy().replace(".done.json", "");
    let inside = Path::new(&beside).strip_prefix(desk.path("out")).unwrap().to_owned();
    let inside = inside.to_str().unwrap();
    let failed = |path: &Path| fs::write(path, "{}").unwrap();
    let words = "a failure beside a result";
    change_is_found(&desk, "out", &format!("{inside}.failed.json"), failed, words);
    let words = "the record does not list it";
    change_is_found(&desk, "out", &format!("{inside}/notes.txt"), write("mine"), words);
    let words = "no file of a results folder";
    change_is_found(&desk, "out", &format!("{inside}.json"), write("mine"), words);
    let words = "not what the ledger froze";
    let forget = |path: &Path| replace(path, "0,20", "3,20");
    change_is_found(&desk, "out", "tables/freezes.csv", forget, words);
}

#[test]
fn a_changed_copy_of_an_unfrozen_study_is_found() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 20, &family("post hoc")));
    desk.fine("study run s.toml --out out --jobs 2");
    desk.backcut("study collect s.toml --out out");
    let other = |path: &Path| replace(path, "F_SG\\\",\\\"evaluations", "FD\\\",\\\"evaluations");
    change_is_found(&desk, "out", "studies/s.json", other, "its units are not those of its study");
}

#[test]
fn tables_whose_records_are_gone_are_not_sound() {
    let desk = desk();
    for record in ending(&desk.path("out/units"), ".done.json") {
        fs::remove_file(record).unwrap();
    }
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("observations.csv: line 2 is not what the records give"), "{said}");
    assert!(said.contains("note: study s: 0 of 8 units have a record"), "{said}");
}

#[test]
fn a_standing_or_a_reason_that_was_embellished_is_found() {
    let desk = desk();
    let folder = desk.path("out/tables/s");
    let embellish = |path: &Path| {
        replace(path, ",confirmatory,", ",confirmatory by construction,");
        sum_again(&folder);
    };
    let words = "it says confirmatory by construction, and the ledger grants confirmatory";
    change_is_found(&desk, "out", "tables/s/analysis.csv", embellish, words);
    let reason = |path: &Path| {
        replace(path, "frozen in entry 0", "registered in 2019");
        sum_again(&folder);
    };
    let words = "the ledger gives another reason";
    change_is_found(&desk, "out", "tables/s/analysis.csv", reason, words);
    let rename = |path: &Path| {
        replace(path, "\"study\": \"s\"", "\"study\": \"z\"");
        sum_again(&folder);
    };
    let words = "it tells of study z, in a folder of another name";
    change_is_found(&desk, "out", "tables/s/about.json", rename, words);
    let words = "R: it says confirmatory, and was never frozen";
    change_is_found(&desk, "out", "tables/s/about.json", rename, words);
}

#[test]
fn innocent_folders_are_sound() {
    let desk = StudyFolder::new();
    let measured = "[[families]]\nname = \"m\"\nasks = \"post hoc\"\n\
        quantity = \"masking.change/w=2\"\ncontrasts = [\"M = [F_SG@0.20] - [FF@0.20]\"]\n";
    let more = format!("{}{}{measured}", common::study::MASKING, family("confirmatory"));
    desk.write("s.toml", &tiny("s", 20, &more));
    desk.fine("study freeze s.toml --out out");
    let sound = |desk: &StudyFolder| {
        for root in ["out", "out/tables"] {
            let said = desk.fine(&format!("study verify {root}"));
            assert!(said.contains(": sound"), "{root}: {said}");
        }
    };
    // Collected before anything ran, half way, whole, in part, with Parquet and without.
    desk.backcut("study collect s.toml --out out");
    sound(&desk);
    desk.fine("study run s.toml --out out --shard 1/2");
    desk.backcut("study collect s.toml --out out");
    sound(&desk);
    desk.fine("study run s.toml --out out --jobs 2");
    for options in ["", "--parquet", "--parts w=1", "--parts all --parquet", ""] {
        desk.backcut(&format!("study collect s.toml --out out {options}"));
        sound(&desk);
    }
    assert!(!desk.path("out/tables/s/analysis.parquet").exists(), "a former collection's");
}

#[test]
fn what_no_study_made_is_found() {
    let desk = desk();
    for path in ["tables/stray.csv", "tables/fake/data.csv", "tables/s/sub/x.csv", "studies/stray"]
    {
        let path = desk.path("out").join(path);
        let folder = path.parent().unwrap();
        let is_new = !folder.exists();
        fs::create_dir_all(folder).unwrap();
        fs::write(&path, "arm,value\nFF,0.1\n").unwrap();
        let said = desk.ends(1, "study verify out");
        assert!(said.contains("1 problem"), "{said}");
        fs::remove_file(&path).unwrap();
        if is_new {
            fs::remove_dir(folder).unwrap();
        }
    }
    fs::write(desk.path("out/stray"), "x").unwrap();
    let said = desk.fine("study verify out");
    assert!(said.contains("stray: no file of a results folder"), "{said}");
    fs::remove_file(desk.path("out/tables/freezes.csv")).unwrap();
    let said = desk.fine("study verify out");
    assert!(said.contains("freezes.csv: it is missing"), "{said}");
}

/// Rewrites a table's file and its checksum, as a forger would.
fn reseal(desk: &StudyFolder, name: &str, change: impl Fn(&str) -> String) {
    let [file, sums] = [name, "SHA256SUMS"].map(|name| desk.path("out/tables/s").join(name));
    let was = fs::read_to_string(&file).unwrap();
    let is = change(&was);
    assert_ne!(was, is);
    fs::write(&file, &is).unwrap();
    let hash = |text: &str| backcut_files::Hash::of(text.as_bytes()).to_string();
    let sealed = fs::read_to_string(&sums).unwrap().replace(&hash(&was), &hash(&is));
    fs::write(&sums, sealed).unwrap();
}

#[test]
fn words_beside_a_table_are_held_to_what_made_them() {
    for (was, is, words) in [
        ("mean squared distance to the reference", "success rate on the real drone", "error is"),
        ("m^2", "%", "unit is"),
        ("\"core seconds\": ", "\"core seconds\": 1", "core seconds is"),
    ] {
        let desk = desk();
        reseal(&desk, "about.json", |text| text.replace(was, is));
        let said = desk.ends(1, "study verify out");
        assert!(said.contains(words), "{said}");
    }
    let desk = desk();
    let head =
        backcut_evidence::ledger::Ledger::open(desk.path("out/ledger.jsonl")).unwrap().head();
    reseal(&desk, "about.json", |text| text.replace(&head.to_string(), &"1".repeat(64)));
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("its ledger head is not in the ledger"), "{said}");
}
