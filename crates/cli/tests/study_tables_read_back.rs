//! The tables of a study, in both formats, are what `backcut stats` reads.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use common::study::{StudyFolder, tiny};

#[test]
fn csv_and_parquet_give_the_same_statistics() {
    let folder = StudyFolder::new();
    folder.write("s.toml", &tiny("s", 8, ""));
    folder.fine("study run s.toml --out out");
    folder.fine("study collect s.toml --out out --parquet");
    let judge = |file: &str| {
        folder.fine(&format!("stats out/tables/s/{file} --contrast [F_SG@0.20]-[FF@0.20] --json"))
    };
    let csv = judge("endpoints.csv");
    assert!(csv.contains("\"estimate\""), "{csv}");
    assert_eq!(judge("endpoints.parquet"), csv);
}
