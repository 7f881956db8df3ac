//! The tables of a study, in both formats, are what `backcut stats` reads.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use common::study::{StudyFolder, tiny};

#[test]
fn csv_and_parquet_give_the_same_statistics() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 8, ""));
    desk.fine("study run s.toml --out out");
    desk.fine("study collect s.toml --out out --parquet");
    let judge = |file: &str| {
        desk.fine(&format!("stats out/tables/s/{file} --contrast [F_SG@0.20]-[FF@0.20] --json"))
    };
    let csv = judge("observations.csv");
    assert!(csv.contains("\"estimate\""), "{csv}");
    assert_eq!(judge("observations.parquet"), csv);
}
