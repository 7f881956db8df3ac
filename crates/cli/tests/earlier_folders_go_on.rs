//! Folders that the version before wrote verify, go on, and replay to the same bits.
//!
//! `fixtures/earlier` holds a study that was stopped inside a unit (`results/`), a run that was
//! stopped (`run/`), and the tables that the version before made of the whole study (`tables/`).

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use backcut_evidence::tables::folder::observations;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/earlier")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn backcut(folder: &Path, line: &str) -> Output {
    let mut command = Command::cargo_bin("backcut").unwrap();
    command.current_dir(folder).args(line.split_whitespace()).output().unwrap()
}

fn fine(folder: &Path, line: &str) -> String {
    let output = backcut(folder, line);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{line}\n{out}\n{err}");
    out + &err
}

#[test]
fn a_study_goes_on_where_an_earlier_version_stopped() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    copy(&fixture(), here);
    let ids = |folder: &Path| {
        let list = |f: &Path| fs::read_dir(f).into_iter().flatten().flatten().map(|e| e.path());
        let mut names: Vec<_> =
            list(folder).flat_map(|shelf| list(&shelf).collect::<Vec<_>>()).collect();
        names.retain(|path| path.extension().is_some_and(|e| e == "json"));
        names.sort();
        names.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let before = ids(&here.join("results/units"));
    assert_eq!(before.len(), 13);
    let unfinished: Vec<_> = fs::read_dir(here.join("results/work")).unwrap().flatten().collect();
    assert_eq!(unfinished.len(), 1);

    assert!(fine(here, "study verify results").contains("sound"));
    let ran = backcut(here, "study run earlier.toml --out results");
    let shown = String::from_utf8(ran.stderr).unwrap();
    assert!(shown.contains("12 were there, 1 computed, 1 failed"), "{shown}");
    assert!(!unfinished[0].path().exists(), "the saved state was taken up and removed");
    for (path, bytes) in before {
        assert!(fs::read(&path).unwrap() == bytes, "{} was written again", path.display());
    }
    // Tables that the version before made, handed on without records, are judged again. (Beside the
    // records they could not stand: the unit that was computed here took another time.)
    copy(&here.join("tables"), &here.join("published"));
    fs::copy(here.join("results/ledger.jsonl"), here.join("published/ledger.jsonl")).unwrap();
    // One of them claimed too much: a seed that somebody chose stood for all that were drawn.
    let judged = backcut(here, "study verify published");
    assert_eq!(judged.status.code(), Some(1));
    let shown = String::from_utf8(judged.stdout).unwrap();
    assert!(shown.contains("1 problem") && shown.contains("2 rows judged again"), "{shown}");
    let why = "not by construction: one result stands for all sources of wild@default";
    assert!(shown.contains("cost: W: it says") && shown.contains(why), "{shown}");
    fine(here, "study collect earlier.toml --out results");
    for table in ["units", "analysis"] {
        let read = |folder: &str| {
            let text = fs::read_to_string(here.join(folder).join(format!("{table}.csv"))).unwrap();
            let rows = text.lines().filter(|row| !row.starts_with("cost,W,"));
            rows.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(read("results/tables/earlier"), read("tables/earlier"));
    }
    // What were three tables of numbers is one now, with the same numbers.
    let read = |folder: &str| observations(&here.join(folder)).unwrap().unwrap();
    assert!(!here.join("tables/earlier/observations.csv").exists());
    assert!(here.join("results/tables/earlier/observations.csv").exists());
    assert_eq!(read("results/tables/earlier"), read("tables/earlier"));
    assert!(fine(here, "study verify results").contains("sound"));
    let shown = fine(here, "study replay results --sample 14");
    assert!(shown.contains("13 of 13"), "{shown}");
}

#[test]
fn a_run_goes_on_where_an_earlier_version_stopped() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    copy(&fixture(), here);
    fine(here, "train quadrotor --out run --resume");
    let shown = fine(here, "inspect run");
    assert!(shown.contains("update     3000 of 3000"), "{shown}");
    // What the earlier version left after training the whole run.
    assert!(shown.contains("hash fd1a55b31c478d44"), "{shown}");
}
