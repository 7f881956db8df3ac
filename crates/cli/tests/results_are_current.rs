//! What is published in `results/` is whole, and the pages made from it are made from it.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::path::Path;
use std::process::{Command, Output};

fn backcut(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_backcut")).args(args).current_dir(root).output().unwrap()
}

fn committed(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn the_ledger_and_every_table_verify() {
    for folder in ["results", "results/second"] {
        let output = backcut(&["study", "verify", folder]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        assert!(text.contains("sound"), "{text}");
    }
}

#[test]
fn the_reproduction_page_is_generated_from_the_tables() {
    let output = backcut(&["report", "reproduction", "results"]);
    assert!(output.status.success());
    assert!(
        String::from_utf8(output.stdout).unwrap() == committed("docs/reproduction.md"),
        "docs/reproduction.md is stale: backcut report reproduction results > docs/reproduction.md"
    );
}

#[test]
fn the_readme_opens_with_the_finding_of_the_tables() {
    let output = backcut(&["report", "finding", "results"]);
    assert!(output.status.success());
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(found.lines().filter(|line| line.starts_with("- **")).count() == 3, "{found}");
    assert!(committed("README.md").contains(found.trim()), "backcut report finding results");
    let other = backcut(&["report", "finding", "results/cue"]);
    assert_eq!(other.status.code(), Some(2), "a study that the paper does not have");
}

/// Pictures of README and docs that tables draw: file, figure, folder of tables.
const PICTURES: [[&str; 3]; 6] = [
    ["memory-value", "memory-value", "results"],
    ["calibration", "calibration", "results"],
    ["cue", "endpoints", "results/cue"],
    ["edges", "endpoints", "results/edges"],
    ["policies", "endpoints", "results/policies"],
    ["depth", "endpoints", "results/depth"],
];

#[test]
fn pictures_are_drawn_from_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    for [name, figure, tables] in PICTURES {
        let out = folder.path().join(name).with_extension("svg");
        let output = backcut(&["report", "figure", figure, tables, "--out", out.to_str().unwrap()]);
        assert!(output.status.success(), "{name}");
        let path = format!("docs/figures/{name}.svg");
        assert!(
            std::fs::read_to_string(out).unwrap() == committed(&path),
            "the picture is stale: backcut report figure {figure} {tables} --out {path}"
        );
    }
}

#[test]
fn a_plan_of_many_universes_shows_every_arm_and_family_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let study = "studies/second/multiverse.toml";
    let output = backcut(&["study", "plan", study, "--no-measure", "--out", out]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("in each of 24 universes"), "{text}");
    assert_eq!(text.matches("SEG-2  ").count(), 2, "its name and its cut: {text}");
    assert_eq!(text.matches("H1-H3: 3 contrasts").count(), 1, "{text}");
}

#[test]
fn a_figure_that_does_not_exist_is_named_before_a_study_is_asked_for() {
    let output = backcut(&["report", "figure", "nonsense", "results"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("the figure `nonsense`") && text.contains("memory-value"), "{text}");
}
