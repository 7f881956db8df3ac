//! Every number of the paper that is typed here is the paper's, and two programmes stand side by
//! side.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use std::collections::BTreeMap;
use std::fs;

use backcut_page::report::Results;
use backcut_paper::entry::{Entry, Subject};
use backcut_paper::paper::Paper;
use backcut_paper::published;
use backcut_stats::table::RawTable;
use backcut_text::format::exact;

/// The rows of a published table: values by column.
fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let raw = RawTable::from_csv(text.as_bytes()).unwrap();
    let row =
        |(_, cells): &(_, Vec<String>)| raw.header.iter().cloned().zip(cells.clone()).collect();
    raw.rows.iter().map(row).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> Option<f64> {
    row[column].parse().ok()
}

fn find<'p>(paper: &'p Paper, table: &str, id: &str, condition: &str) -> &'p Entry {
    let rows = &paper.tables.iter().find(|t| t.name == table).unwrap().rows;
    let is_it = |row: &&Entry| row.id == id && row.condition == condition;
    let mut found = rows.iter().filter(is_it);
    let row = found.next().unwrap_or_else(|| panic!("{table} {id} {condition}"));
    assert!(found.next().is_none(), "{table} {id} {condition} stands twice");
    row
}

fn same(entry: &Entry, row: &BTreeMap<String, String>, [mean, lower, upper]: [&str; 3]) {
    let name = format!("{} {}", entry.id, entry.condition);
    assert_eq!(entry.paper, number(row, mean), "{name}");
    let ends = [lower, upper].map(|column| row.get(column).and_then(|_| number(row, column)));
    assert_eq!(entry.interval, ends[0].zip(ends[1]).map(<[f64; 2]>::from), "{name}");
}

const MEAN: [&str; 3] = ["mean", "lower", "upper"];

#[test]
fn tables_hold_what_the_papers_tables_hold() {
    let paper = Paper::load().unwrap();
    let mut count = 0;
    for row in csv(include_str!("data/c5_percent_of_ff_full.csv")) {
        same(find(&paper, "c5", &row["quantity"], &row["condition"]), &row, MEAN);
        count += 1;
    }
    for row in csv(include_str!("data/c6_percent_of_ff_full.csv")) {
        let id = format!("L = {}", row["segment_length"]);
        same(find(&paper, "c6", &id, &row["condition"]), &row, MEAN);
        count += 1;
    }
    for row in csv(include_str!("data/c7_masking_percent.csv")) {
        let arm = match row["arm"].as_str() {
            "ff_full" => "FF",
            "f_sg_init" => "F_SG",
            _ => "F_SG_cont",
        };
        let id = format!("w = {}, {arm}", row["window"]);
        same(find(&paper, "c7", &id, &row["condition"]), &row, MEAN);
        count += 1;
    }
    for row in csv(include_str!("data/c2_warm_change_percent.csv")) {
        for (arm, column) in [("FF", "ff"), ("FD", "fd"), ("F_SG", "f_sg")] {
            let change = find(&paper, "warm-change", arm, &row["noise"]);
            assert_eq!(change.paper, number(&row, column), "{arm}");
            let above = find(&paper, "warm-change", &format!("{arm} above"), &row["noise"]);
            assert_eq!(above.paper, number(&row, &format!("{column}_above")), "{arm}");
            count += 2;
        }
        let r = find(&paper, "seven-point", "r", &row["noise"]).paper.unwrap();
        assert!((r - number(&row, "relative_excess").unwrap()).abs() < 0.0051, "{r}");
    }
    let layers = ["raw", "clipped", "applied", "unclipped"];
    for (row, layer) in csv(include_str!("data/b2_layers.csv")).iter().zip(layers) {
        for (column, value) in row.iter().filter(|(column, _)| *column != "layer") {
            let id = format!("{layer}.{column}");
            let rows = &paper.tables.iter().find(|t| t.name == "b2").unwrap().rows;
            let entry = rows.iter().find(|entry| entry.id == id).unwrap();
            assert_eq!(entry.paper, value.parse().ok(), "{id}");
            count += 1;
        }
    }
    let names = [
        ("cv", "cv_ratio"),
        ("kf/ff", "kf_over_ff"),
        ("kd/fd", "kd_over_fd"),
        ("full", "memory_full"),
        ("one step", "memory_one_step"),
        ("cancellation", "cancellation"),
        ("update", "update_cosine"),
        ("growth", "p95_max_q_over_q1"),
    ];
    let rows = &paper.tables.iter().find(|t| t.name == "b7").unwrap().rows;
    for (row, typed) in csv(include_str!("data/b7_checkpoints.csv")).iter().zip(rows.chunks(8)) {
        for (entry, (id, column)) in typed.iter().zip(names) {
            assert_eq!((entry.id.as_str(), entry.paper), (id, number(row, column)), "{column}");
            count += 1;
        }
    }
    assert_eq!(count, 20 + 15 + 30 + 42 + 24 + 40);
}

#[test]
fn typed_means_are_those_of_the_papers_values_per_source() {
    let paper = Paper::load().unwrap();
    let entries = paper.claims.iter().chain(paper.tables.iter().flat_map(|t| &t.rows));
    let mut count = 0;
    for entry in entries {
        let (Some(of), Some(typed)) = (&entry.per_source, entry.paper) else { continue };
        let values = published::values(of).unwrap();
        let mean = values.iter().map(|(_, v)| v).sum::<f64>() / values.len() as f64;
        let decimals = exact(typed).split_once('.').map_or(0, |(_, after)| after.len());
        let last = 10f64.powi(-i32::try_from(decimals).unwrap());
        assert!((mean - typed).abs() <= 0.5001 * last, "{} {}: {mean}", entry.id, entry.condition);
        assert_eq!(entry.n.map(|n| n as usize), Some(values.len()), "{}", entry.id);
        count += 1;
    }
    assert!(count > 50, "{count}");
}

#[test]
fn a_second_programme_stands_beside_the_first_and_changes_with_its_own_tables() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let alone = common::open(folder.path());
    let text = alone.markdown();
    assert!(!text.contains("| second programme |") && text.contains("| ours |"), "{text}");
    let other = tempfile::tempdir().unwrap();
    common::write_results(other.path());
    let both = |other: &std::path::Path| {
        common::open(folder.path()).with_second(Results::open(other).unwrap())
    };
    let first = both(other.path());
    let text = first.markdown();
    assert!(text.contains("First programme: ") && text.contains("Second programme: "), "{text}");
    let c5 = first.table("c5").unwrap();
    assert_eq!(c5.columns[6], "second programme");
    assert!(c5.rows.iter().all(|row| row[2] == row[6]), "the same tables give the same numbers");
    let path = other.path().join("c5/analysis.csv");
    let judged = fs::read_to_string(&path).unwrap();
    fs::write(&path, judged.replace("0.0021,0.0019,0.0023", "-0.0021,-0.0023,-0.0019")).unwrap();
    let changed = both(other.path());
    let answers = changed.answers(Subject::Quadrotor);
    let h1 = answers.iter().find(|answer| answer.entry.id == "H1").unwrap();
    let words = |i: usize| h1.found[i].as_ref().unwrap().1.words.clone();
    assert!(words(1).starts_with("opposite direction, apart"), "{}", words(1));
    assert!(!words(0).contains("opposite"), "{}", words(0));
    assert!(changed.figure("agreement").unwrap().svg().contains("second programme"));
}

#[test]
fn every_published_number_is_counted_once_with_a_value_or_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let beside = common::open(folder.path());
    for subject in [Subject::Quadrotor, Subject::Vessel] {
        let answers = beside.answers(subject);
        for answer in &answers {
            assert_eq!(answer.group().is_none(), answer.absent().is_some(), "{}", answer.entry.id);
        }
        let absent = answers.iter().filter(|answer| answer.absent().is_some()).count();
        let there =
            format!("{} of {} published numbers about", answers.len() - absent, answers.len());
        assert!(beside.markdown().contains(&there), "{there}");
    }
}
