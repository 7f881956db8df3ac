//! What is missing is said, never drawn around and never a failure.

mod common;

use std::fs;

use backcut_paper::FIGURES;

#[test]
fn a_single_small_study_makes_a_page_that_names_what_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    common::write_quick(folder.path());
    let results = common::open(folder.path());
    let html = results.page(None).unwrap();
    assert!(html.contains("id=\"figure-memory-value\""));
    assert!(html.contains("id=\"figure-segments\""));
    for absent in ["noninferiority", "seven-point", "masking", "vessel-layers", "vessel-noise"] {
        assert!(html.contains(&format!("<li><b>{absent}</b>: study")), "{absent}");
    }
    assert!(html.contains("No ledger was collected"));
    let text = results.summary("quick", 80).unwrap();
    assert!(text.contains("C5 cost") && text.contains("H1"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(results.summary("c5", 80).is_err());
}

#[test]
fn every_study_taken_away_alone_leaves_a_page() {
    let whole = tempfile::tempdir().unwrap();
    common::write_results(whole.path());
    for absent in ["c5", "c6", "c2", "b1", "b2", "b3", "b5", "b7", "d1", "e6"] {
        let moved = tempfile::tempdir().unwrap();
        fs::rename(whole.path().join(absent), moved.path().join(absent)).unwrap();
        let results = common::open(whole.path());
        let missing: Vec<String> = FIGURES
            .iter()
            .filter_map(|(name, _)| results.figure(name).err().map(|e| e.to_string()))
            .collect();
        assert!(missing.iter().all(|m| m.starts_with("make ")), "{missing:?}");
        let text = results.markdown();
        assert!(!text.contains("NaN"));
        fs::rename(moved.path().join(absent), whole.path().join(absent)).unwrap();
    }
}

#[test]
fn failed_units_are_listed_with_their_note_and_left_out_of_means_by_count() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let results = common::open(folder.path());
    let html = results.page(None).unwrap();
    assert!(html.contains(">failed<") && html.contains(">interrupted<"));
    let caption = results.figure("memory-value").unwrap().caption;
    assert!(caption.contains("leave out sources whose arms are not all done"), "{caption}");
}
