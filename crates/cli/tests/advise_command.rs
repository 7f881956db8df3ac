//! Advice says what the intervals of a finished study say, and no more.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::path::Path;

use common::study::{StudyFolder, family, tiny};

fn published(study: &str) -> String {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    results.join(study).canonicalize().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_sentence_carries_its_interval() {
    let desk = StudyFolder::new();
    let said = desk.fine(&format!("advise --study {}", published("c6")));
    for line in [
        "0.20 (16 sources; 95% shared by 7 comparisons)",
        "Training under F_SG raises the error by 36.6% of FF's (30.3% to 43.4%)",
        "Having no memory (`w1`) raises the error by 37.3% of FF's (31.8% to 42.9%)",
        "Training under SEG-8 was not told apart from FF (-2% to 7%)",
        "Segments of 2 steps are the shortest within 5% of FF (at most 2.7%; one-sided",
        "No segment that was tried is shown to be within 5% of FF",
        "Not tested: cuts after a warm start.",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    // A wider margin admits a shorter segment: the rule decides, not the sentence.
    let said = desk.fine(&format!("advise --study {} --margin 0.3", published("c6")));
    assert!(said.contains("Segments of 8 steps are the shortest within 30% of FF"), "{said}");
}

#[test]
fn an_arm_that_leaves_ff_is_compared_from_there_on() {
    let desk = StudyFolder::new();
    let said = desk.fine(&format!("advise --study {}", published("second/c5")));
    assert!(said.contains("Training under F_SG from update 800 on (`F_SG_cont`) raises"), "{said}");
    assert!(!said.contains("warm start") && !said.contains("Not compared"), "{said}");
    let said = desk.fine(&format!("advise --study {}", published("second/c4")));
    assert!(said.contains("Not compared"), "an arm is not left out in silence: {said}");
}

#[test]
fn nothing_is_said_on_too_few_sources_or_without_a_result() {
    let desk = StudyFolder::new();
    // Both from initialization: arms that start elsewhere are not compared.
    let text = tiny("s", 20, &family("post hoc")).replace("from = \"FF\"\nat = 10\n", "");
    desk.write("s.toml", &text.replace("count = 4", "count = 3"));
    desk.fine("study run s.toml --out out --shard 1/2");
    desk.backcut("study collect s.toml --out out");
    let said = desk.fine("advise --study out/tables/s");
    assert!(said.contains("Nothing is said: ") && said.contains("has no result"), "{said}");
    desk.fine("study run s.toml --out out");
    desk.backcut("study collect s.toml --out out");
    let said = desk.fine("advise --study out/tables/s");
    assert!(said.contains("Nothing is said: ") && said.contains("at least 4 are needed"), "{said}");
    assert!(!said.contains("raises") && !said.contains("shortest"), "{said}");
    assert!(said.contains("Not tested: what memory is worth here"), "{said}");
}

#[test]
fn a_folder_without_a_study_gets_one_clear_error() {
    let desk = StudyFolder::new();
    let said = desk.ends(2, "advise --study nowhere");
    assert!(said.contains("nowhere/about.json") && said.contains("hint: give a folder"), "{said}");
    let said = desk.ends(2, &format!("advise --study {} --margin -1", published("c6")));
    assert!(said.contains("--margin -1") && said.contains("hint: "), "{said}");
    let said = desk.ends(2, &format!("advise --study {}", published("c3")));
    assert!(said.contains("study c3 is neither in a ledger"), "{said}");
}
