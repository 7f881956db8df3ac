//! Folders that an earlier version wrote verify, go on, and replay to the same bits.
//!
//! `fixtures/earlier` was made by the first version: a study that was stopped inside a unit (`results/`), a
//! run that was stopped (`run/`), and the tables that the earlier version made of the whole study (`tables/`).

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use backcut_tables::from_csv;
use backcut_tables::rows::AnalysisRow;

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
    assert!(before.len() >= 7, "{}", before.len());
    let unfinished: Vec<_> = fs::read_dir(here.join("results/work")).unwrap().flatten().collect();
    assert_eq!(unfinished.len(), 1);

    let shown = fine(here, "study run earlier.toml --out results");
    assert!(shown.contains(&format!("{} were there", before.len())), "{shown}");
    assert!(!unfinished[0].path().exists(), "the saved state was taken up and removed");
    for (path, bytes) in before {
        assert!(fs::read(&path).unwrap() == bytes, "{} was written again", path.display());
    }
    backcut(here, "study collect earlier.toml --out results"); // two sources decide nothing: exit code 1
    for table in ["endpoints", "curves", "units", "analysis", "measurements"] {
        let read =
            |folder: &str| fs::read_to_string(here.join(folder).join(format!("{table}.csv")));
        let (ours, theirs) = (read("results/tables/earlier").unwrap(), read("tables").unwrap());
        // Since then a status says what it rests on.
        let ours = ours.replace("; this rests on the heads that its records carry", "");
        if table == "analysis" {
            // Since then the adjusted p-value is called so, and the other one stands beside it.
            let rows = |text: &str| from_csv::<AnalysisRow>(text.as_bytes()).unwrap();
            let (ours, theirs) = (rows(&ours), rows(&theirs));
            assert!(ours.len() == theirs.len() && !ours.is_empty());
            let ours: Vec<_> = ours.into_iter().zip(&theirs).map(|(o, t)| o.told_like(t)).collect();
            let theirs: Vec<_> = theirs.iter().map(|t| t.clone().told_like(t)).collect();
            assert_eq!(ours, theirs);
        } else {
            assert_eq!(ours, theirs, "{table}");
        }
    }
    let shown = fine(here, "study verify results");
    assert!(shown.contains("sound"), "{shown}");
    let shown = fine(here, "study replay results --sample 16");
    assert!(shown.contains("16 of 16"), "{shown}");
}

#[test]
fn a_run_goes_on_where_an_earlier_version_stopped() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    copy(&fixture(), here);
    fine(here, "train quadrotor --out run --resume");
    let shown = fine(here, "inspect run");
    assert!(shown.contains("update     6000 of 6000"), "{shown}");
    // What the earlier version left after training the whole run.
    assert!(shown.contains("hash 210195e5ee75aaed"), "{shown}");
}
