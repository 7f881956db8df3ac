//! Instructions of an update: a number that repeats, with the tool and the code path beside it.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::process::Command;

use common::study::{StudyFolder, tiny};
use serde_json::Value;

const COST: &str = "measure cost --study out --of FF@0.20 --rounds 1";

/// One trained state.
fn trained() -> StudyFolder {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 4, "").replace("count = 4", "count = 1"));
    desk.fine("study run s.toml --out out");
    desk.fine("study collect s.toml --out out");
    desk
}

/// Value and note of the counts, by cut.
fn counts(json: &str) -> Vec<(String, Option<f64>, String)> {
    let json: Value = serde_json::from_str(json).unwrap();
    let findings = json["checkpoints"][0]["findings"].as_array().unwrap();
    let is_count = |f: &&Value| f["quantity"] == "cost.instructions";
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    findings
        .iter()
        .filter(is_count)
        .map(|f| (word(&f["cut"]), f["value"].as_f64(), word(&f["note"])))
        .collect()
}

#[test]
fn callgrind_counts_repeat() {
    assert!(
        Command::new("valgrind").arg("--version").output().is_ok(),
        "valgrind is not installed (cargo xtask test installs it)"
    );
    let desk = trained();
    let once = desk.backcut(&format!("{COST} --cuts FF,FD --instructions valgrind --json"));
    let again = desk.backcut(&format!("{COST} --cuts FF --instructions valgrind --json"));
    let (once, again) = (counts(&once.out), counts(&again.out));
    let [ff, fd] = once.as_slice() else { panic!("two cuts: {once:?}") };
    // Where the heap lies decides over some instructions in `memcpy`, seen up to one in ten thousand; starting the program
    // alone takes millions.
    let drift = (ff.1.unwrap() - again[0].1.unwrap()).abs() / ff.1.unwrap();
    assert!(drift < 1e-3 && ff.2 == again[0].2, "{once:?} {again:?}");
    for (_, value, note) in [ff, fd] {
        // A tiny policy, yet thousands of multiplications.
        assert!(value.is_some_and(|n| n > 1e5 && n.fract() == 0.0), "{once:?}");
        assert!(note.starts_with("callgrind, ") && note.ends_with(" path"), "{note}");
        assert!(!note.contains("avx512"), "valgrind knows no AVX-512: {note}");
    }
    assert!(
        fd.1.unwrap() < 0.995 * ff.1.unwrap(),
        "a cut that drops edges needs fewer instructions: {once:?}"
    );
}

#[test]
fn without_a_tool_the_reason_stands_in_the_count_s_place() {
    let desk = trained();
    let line = format!("{COST} --cuts FF --instructions auto --out o");
    let output = desk.command(&line).env("PATH", "").output().unwrap();
    let (shown, said) = (String::from_utf8(output.stdout).unwrap(), output.stderr);
    assert!(output.status.success(), "{shown}");
    assert!(shown.lines().all(|l| l.chars().count() <= 80), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("perf is not installed"), "{shown}");
    assert!(words.contains("valgrind is not installed"), "{shown}");
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("hint: install the package valgrind"), "{said}");
    let csv = std::fs::read_to_string(desk.path("o/cost.csv")).unwrap();
    let row = csv.lines().find(|line| line.contains("cost.instructions")).unwrap();
    assert!(row.contains(",all,,") && row.contains("not installed"), "{row}");
    // Not asked for is a reason too, and needs no hint.
    let seen = desk.backcut(&format!("{COST} --cuts FF --instructions off"));
    assert!(seen.out.contains("not asked for") && !seen.err.contains("hint:"), "{}", seen.err);
}
