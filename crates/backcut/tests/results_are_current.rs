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

#[test]
fn the_readmes_picture_is_drawn_from_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("memory-value.svg");
    let output =
        backcut(&["report", "figure", "memory-value", "results", "--out", out.to_str().unwrap()]);
    assert!(output.status.success());
    assert!(
        std::fs::read_to_string(out).unwrap() == committed("docs/figures/memory-value.svg"),
        "the picture is stale: backcut report figure memory-value results --out docs/figures/memory-value.svg"
    );
}
