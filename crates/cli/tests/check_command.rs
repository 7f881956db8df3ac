//! What a user of `backcut check`, `completions` and `man` sees.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

mod common;

use common::backcut;

#[test]
fn every_cut_agrees_with_the_oracles() {
    let seen = backcut(&["check"]);
    assert_eq!((seen.code, seen.err.as_str()), (0, ""), "{}", seen.out);
    assert!(seen.out.lines().all(|line| line.chars().count() <= 80), "{}", seen.out);
    assert!(seen.out.ends_with("(1e-10 to the oracle, 1e-7 to differences)\n"), "{}", seen.out);
    assert!(!seen.out.contains("DIFFERS") && !seen.out.contains("FAILED"), "{}", seen.out);
}

#[test]
fn other_sizes_and_seeds_too() {
    let args = ["check", "--width", "12", "--heads", "3", "--steps", "5", "--seed", "7", "--json"];
    let seen = backcut(&args);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let json: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(json["ok"], true);
    assert!(json["cuts"].as_array().unwrap().len() > 15);
}

#[test]
fn heads_that_do_not_divide_the_width_are_refused() {
    let seen = backcut(&["check", "--width", "6", "--heads", "4"]);
    assert_eq!((seen.code, seen.out.as_str()), (2, ""));
    assert!(seen.err.starts_with("error: attention `block0`: 4 heads do not divide 6 columns"));
    assert!(seen.err.contains("\nhint: choose a width that is a multiple"), "{}", seen.err);
}

#[test]
fn too_few_steps_are_refused() {
    let seen = backcut(&["check", "--steps", "2"]);
    assert_eq!((seen.code, seen.out.as_str()), (2, ""));
    assert!(seen.err.contains("\nhint: use at least 3 steps"), "{}", seen.err);
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let seen = backcut(&["completions", shell]);
        assert_eq!(seen.code, 0);
        assert!(seen.out.contains("explain") && seen.out.contains("bench"), "{shell}");
    }
}

#[test]
fn manual_pages_are_written() {
    let seen = backcut(&["man"]);
    assert_eq!(seen.code, 0);
    assert!(seen.out.contains(".TH") && seen.out.contains("explain"));
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("pages");
    assert_eq!(backcut(&["man", target.to_str().unwrap()]).code, 0);
    let page = std::fs::read_to_string(target.join("backcut-explain.1")).unwrap();
    assert!(page.contains("backward graph"));
}
