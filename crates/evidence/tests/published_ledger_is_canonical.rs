//! Every line under `results/`, and every study embedded in one, is the canonical JSON of itself.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::path::Path;

use backcut_files::{canonical, canonical_value};
use serde_json::Value;

fn same(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(canonical_value(&value), text);
    assert_eq!(canonical(&value).unwrap(), text);
    value
}

#[test]
fn published_lines_and_studies_come_out_the_same() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/ledger.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let studies = text.lines().filter(|line| {
        let entry = same(line);
        let study =
            entry["body"]["canonical"].as_str().or(entry["body"]["frozen"]["canonical"].as_str());
        study.map(same).is_some()
    });
    assert!(studies.count() > 8);
}
