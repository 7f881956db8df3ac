//! Watching: one study with its curves, or a folder with all of its studies.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;

use common::study::{StudyFolder, family, tiny};

#[test]
fn a_study_and_its_folder_are_watched() {
    let desk = StudyFolder::new();
    desk.write("one.toml", &tiny("one", 10, "")).write("two.toml", &tiny("two", 11, ""));
    desk.fine("study run one.toml --out out --jobs 2");
    let said = desk.fine("study watch one.toml --out out --once");
    assert!(said.contains("[########]"), "{said}");
    assert!(said.contains("mean error"), "{said}");

    // Of the second study, one record is taken away: it is pending again, and nobody computes it.
    desk.fine("study run two.toml --out out --jobs 2");
    let folder = desk.fine("study watch out --once");
    assert_eq!(folder.lines().filter(|line| line.contains(" units")).count(), 2, "{folder}");
    assert!(!folder.contains("pending"), "{folder}");
    let two = fs::read_to_string(desk.path("out/studies/two.json")).unwrap();
    let id = two.split("\"units\":[\"").nth(1).unwrap()[..64].to_owned();
    fs::remove_file(desk.path(&format!("out/units/{}/{id}.done.json", &id[..2]))).unwrap();
    let folder = desk.fine("study watch out --once");
    let line = folder.lines().find(|line| line.starts_with("two ")).unwrap();
    assert!(line.contains(", 1 pending") || line.contains(", 1 interrupted"), "{folder}");
}

#[test]
fn a_folder_without_studies_is_an_error_with_a_hint() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 10, &family("confirmatory")));
    fs::create_dir(desk.path("empty")).unwrap();
    let said = desk.ends(2, "study watch empty --once");
    assert!(said.contains("no study ran in this folder") && said.contains("hint: "), "{said}");
}
