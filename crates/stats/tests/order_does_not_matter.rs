//! Neither the order of rows nor the company of other contrasts changes a row; layouts agree.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

use backcut_stats::{Contrast, FamilyParams, Layout, Report, SourceTable};
use std::fmt::Write as _;

const CSV: &str = include_str!("../../paper/data/seven_point_gap.csv");

fn run(csv: &str, contrasts: &[&str]) -> Report {
    let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap();
    let contrasts = contrasts.iter().map(|t| Contrast::parse(t).unwrap()).collect();
    let params = FamilyParams { size: Some(3), draws: 5000, ..FamilyParams::new(contrasts) };
    params.check().unwrap().run(&table).unwrap()
}

#[test]
fn reversed_rows_give_the_same_bits() {
    let mut lines: Vec<&str> = CSV.lines().collect();
    lines[1..].reverse();
    let contrasts = ["[0.30] - [0.00]", "slope([*])"];
    assert_eq!(run(CSV, &contrasts), run(&lines.join("\n"), &contrasts));
}

#[test]
fn a_row_does_not_depend_on_the_other_rows() {
    let alone = run(CSV, &["[0.20] - [0.05]"]);
    let together = run(CSV, &["[0.30]", "[0.20] - [0.05]", "mean([0.20]) / mean([0.30])"]);
    assert_eq!(alone.rows[0], together.rows[1]);
}

#[test]
fn long_and_wide_tables_give_the_same_report() {
    let mut lines = CSV.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut long = String::from("value,condition,seed\n");
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        for (condition, value) in header.iter().zip(&fields).skip(1).rev() {
            let _ = writeln!(long, "{value},{condition},{}", fields[0]);
        }
    }
    let contrasts = ["[0.30] - [0.00] > 0"];
    assert_eq!(run(CSV, &contrasts), run(&long, &contrasts));
}
