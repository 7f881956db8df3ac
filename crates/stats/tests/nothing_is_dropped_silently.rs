//! Gaps, duplicates, text, too few sources and zero denominators stop a run, and say where.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

use backcut_stats::{Contrast, FamilyParams, Layout, SourceTable, StatsError};
use std::fmt::Write as _;

fn failure(csv: &str, contrast: &str) -> String {
    let run = || -> Result<(), StatsError> {
        let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default())?;
        let contrast = Contrast::parse(contrast)?;
        FamilyParams::new(vec![contrast]).check()?.run(&table).map(|_| ())
    };
    run().unwrap_err().to_string()
}

const ROWS: &str = "1,1,2\n2,2,3\n3,1,4\n4,2,1\n";

#[test]
fn every_defect_has_its_message() {
    let table = |extra: &str| format!("seed,a,b\n{ROWS}{extra}");
    let cases = [
        (table("5,,2\n"), "[a]", "[a] has no value for 1 of 5 sources (5)"),
        (table("5,nan,2\n"), "[a]", "[a] of source 5: `nan` is not a finite number"),
        (table("5,inf,2\n"), "[a]", "`inf` is not a finite number"),
        (table("5,diverged,2\n"), "[a]", "`diverged` is not a finite number"),
        (table("4,1,2\n"), "[b]", "[a] of source 4 appears in row 5 and again in row 6"),
        (table("5,1,0\n"), "[a] / [b]", "source 5: the denominator is zero"),
        (
            table("5,1,-10\n"),
            "mean([a]) / mean([b])",
            "the mean over sources: the denominator is zero",
        ),
        (table(""), "[c]", "find the cell `c` in the table (it has: a, b)"),
        ("seed,a\n1,1\n2,2\n3,3\n".into(), "[a]", "from 3 sources: at least 4 are needed"),
        ("x,a\n1,1\n".into(), "[a]", "find the source column `source`"),
        ("seed,a\n1,1\n,2\n".into(), "[a]", "row 3 has no source name"),
    ];
    for (csv, contrast, expected) in cases {
        let found = failure(&csv, contrast);
        assert!(
            found.contains(expected),
            "{csv}{contrast}\n  found    {found}\n  expected {expected}"
        );
    }
}

#[test]
fn an_unpaired_source_in_a_long_table_is_named() {
    let mut csv = String::from("seed,arm,value\n");
    for seed in 1..=6 {
        let _ = writeln!(csv, "{seed},FF,1");
        if seed != 3 {
            let _ = writeln!(csv, "{seed},FD,2");
        }
    }
    let found = failure(&csv, "[FD] - [FF]");
    assert!(found.contains("[FD] has no value for 1 of 6 sources (3)"), "{found}");
}

#[test]
fn unused_gaps_do_not_matter() {
    let csv = format!("seed,a,b\n{ROWS}5,1,\n");
    let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap();
    let family = FamilyParams::new(vec![Contrast::column("a")]).check().unwrap();
    assert_eq!(family.run(&table).unwrap().units, 5);
}
