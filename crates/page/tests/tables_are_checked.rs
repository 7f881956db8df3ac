//! A folder that is not what it claims to be is an error that says where.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use std::fs;

use backcut_page::report::Results;

#[test]
fn a_table_that_is_not_one_is_an_error_with_file_and_row() {
    let break_it = |file: &str, from: &str, to: &str| {
        let folder = tempfile::tempdir().unwrap();
        common::write_study(folder.path(), "mine");
        let path = folder.path().join("mine").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} holds {from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        Results::open(folder.path()).unwrap_err().to_string()
    };
    let no_column = break_it("observations.csv", "value", "valeu");
    assert!(
        no_column.ends_with("observations.csv in row 1: there is no column `value`"),
        "{no_column}"
    );
    let nan = break_it("observations.csv", ",8,error,,,", ",8,error,,,nan\u{7}");
    assert!(nan.contains("in row 2") && nan.contains("is not a finite number"), "{nan}");
    let twice = break_it("observations.csv", ",80,error,,,", ",72,error,,,");
    assert!(twice.contains("appear twice"), "{twice}");
    let json = break_it("about.json", "{", "[");
    assert!(json.contains("about.json"), "{json}");
    let ragged = break_it("units.csv", "\n", "\nx,y\n");
    assert!(ragged.contains("units.csv in row 2"), "{ragged}");
}

#[test]
fn a_folder_without_studies_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let message = Results::open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("no folder in it holds a table of a study"), "{message}");
    assert!(Results::open(&folder.path().join("nowhere")).is_err());
}

#[test]
fn one_study_s_own_folder_opens_too() {
    let folder = tempfile::tempdir().unwrap();
    common::write_study(folder.path(), "mine");
    let results = Results::open(&folder.path().join("mine")).unwrap();
    assert!(results.study("mine").is_some());
}

/// A study that takes an arm over holds its units, and the other study's tables hold their values.
#[test]
fn a_cell_that_is_reused_is_found_where_it_was_made() {
    let folder = tempfile::tempdir().unwrap();
    common::write_study(folder.path(), "base");
    common::write_study(folder.path(), "mine");
    let edit = |file: &str, change: &dyn Fn(&str) -> String| {
        let path = folder.path().join("mine").join(file);
        fs::write(&path, change(&fs::read_to_string(&path).unwrap())).unwrap();
    };
    let without = |text: &str| {
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("whole path")).collect();
        lines.join("\n") + "\n"
    };
    edit("observations.csv", &without);
    let cell = || {
        let results = Results::open(folder.path()).unwrap();
        results.cell("mine", "whole path", "2.0").cloned()
    };
    assert_eq!(cell(), None, "nothing says where it would be");
    edit("units.csv", &|text| {
        let marked = |line: &str| match line.rsplit_once(",,") {
            Some((start, note)) if line.contains("whole path") => format!("{start},base,{note}\n"),
            _ => format!("{line}\n"),
        };
        text.lines().map(marked).collect()
    });
    let base = Results::open(&folder.path().join("base")).unwrap();
    assert_eq!(cell().as_ref(), base.cell("base", "whole path", "2"));
    assert!(cell().is_some_and(|cell| cell.len() == 6));
}
