//! What a user of `backcut explain` sees: output, exit codes, hints.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

mod common;

use common::{Seen, backcut};

#[test]
fn segments_are_taught_at_a_glance() {
    let seen = backcut(&["explain", "SEG-8", "--steps", "32"]);
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    // Golden, version 1: to change it on purpose, replace the file by what the command prints.
    assert_eq!(seen.out, include_str!("golden/explain_seg-8.txt"));
}

#[test]
fn every_cut_and_length_fits_eighty_columns() {
    let cuts = ["FF", "fd", "F_SG", "SEG-3", "F_A0.25", "KF", "K_SG", "K4_SEG-8", "K12D"];
    for cut in cuts {
        for steps in ["1", "2", "33", "34", "35", "99", "320"] {
            let seen = backcut(&["explain", cut, "--steps", steps]);
            assert_eq!(seen.code, 0, "{cut}, {steps}: {}", seen.err);
            let longest = seen.out.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= 80, "{cut}, {steps}: {longest} columns");
            assert!(seen.out.is_ascii(), "{cut}, {steps}");
        }
    }
}

#[test]
fn a_window_leaves_blanks() {
    let seen = backcut(&["explain", "FF", "--steps", "6", "--window", "2"]);
    assert!(seen.out.contains("\n     5            # o\n"), "{}", seen.out);
    assert!(seen.out.contains("blank: not read"), "{}", seen.out);
}

#[test]
fn a_systems_own_edges_are_explained() {
    let vessel = ["--system", "vessel", "--preset", "small", "--steps", "8"];
    let seen = backcut(&[&["explain", "FF:velocity=D"], &vessel[..]].concat());
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    let line = |name: &str| {
        let line = seen.out.lines().find(|line| line.contains(name)).unwrap_or_default();
        line.split_whitespace().rev().take(3).collect::<Vec<_>>().join(" ")
    };
    // All, dropped and kept edges of eight steps after the prefix.
    assert_eq!(line("`state.position`"), "7 0 7", "{}", seen.out);
    assert_eq!(line("`state.velocity`"), "7 7 0", "{}", seen.out);
    assert!(seen.out.contains("blank: the 16 steps before the first action"), "{}", seen.out);
    let gru = ["explain", "SEG-4", "--system", "quadrotor", "--set", "policy=gru", "--steps", "8"];
    let seen = backcut(&gru);
    assert!(seen.out.contains("carried from step to step by block0.h, block1.h"), "{}", seen.out);
    assert!(!seen.out.contains("W_K, W_V:"), "{}", seen.out);
    assert_refused(&["explain", "FF", "--set", "policy=gru"], "without a system", "--system NAME");
    let quadrotor = |steps| ["explain", "FF", "--system", "quadrotor", "--steps", steps];
    assert_refused(&quadrotor("0"), "0 steps", "at least 1 and at most 32");
    assert_refused(&quadrotor("33"), "33 steps", "at least 1 and at most 32");
    assert_refused(
        &["explain", "FF:wings=D", "--system", "quadrotor"],
        "state.position",
        "begin or end",
    );
}

#[test]
fn one_step_credit_stops_at_the_own_action() {
    let seen = backcut(&["explain", "KF", "--steps", "4", "--step", "2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(json["cut"], "KF");
    assert_eq!(json["state_edges_per_path"], 0);
    assert_eq!(json["reach"]["action"], serde_json::json!([null, null, 0]));
    // Memory still carries credit to what earlier steps stored.
    assert_eq!(json["reach"]["stored"][0], serde_json::json!([0, 0, 0]));
    assert_eq!(json["edges"][0]["through"], "state");
    assert_eq!(json["edges"][0]["dropped"], 3);
}

#[test]
fn graphviz_has_every_edge() {
    let seen = backcut(&["explain", "FD", "--steps", "4", "--layers", "1", "--dot", "-"]);
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    assert!(seen.out.starts_with("digraph \"FD\" {"));
    assert_eq!(seen.out.matches(" -> ").count(), 3 + 6);
    assert_eq!(seen.out.matches("style=dotted").count(), 6);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fd.dot");
    let args = ["explain", "FD", "--steps", "4", "--layers", "1", "--dot", file.to_str().unwrap()];
    assert!(backcut(&args).out.starts_with("FD: "));
    assert_eq!(std::fs::read_to_string(file).unwrap(), seen.out);
}

/// One error line, one hint, exit code 2, nothing on stdout.
fn assert_refused(args: &[&str], what: &str, hint: &str) {
    let Seen { code, out, err } = backcut(args);
    assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{args:?}: {err}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(what), "{args:?}: {err}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(hint), "{args:?}: {err}");
}

#[test]
fn wrong_input_is_one_clear_error_with_a_hint() {
    assert_refused(&["explain", "SEG-0"], "`SEG-0` is not a cut", "L >= 1");
    assert_refused(&["explain", "K0F"], "`K0F` is not a cut", "k >= 1");
    assert_refused(&["explain", "FX"], "`X` is no memory credit", "FF FD KF KD");
    assert_refused(&["explain", "F_A1.5"], "a factor of `1.5`", "0 (as F_SG) to 1 (as FF)");
    assert_refused(&["explain", "FF", "--window", "0"], "a window of 0", "w = 1");
    assert_refused(
        &["explain", "FF", "--width", "6", "--heads", "4"],
        "attention `block0`: 4 heads do not divide 6 columns",
        "a multiple of the number of heads",
    );
    assert_refused(&["explain", "FF", "--steps", "0"], "0 steps", "at least 1");
    assert_refused(&["explain", "FF", "--layers", "0"], "0 layers", "at least 1");
    assert_refused(&["explain", "FF", "--step", "32"], "no step 32", "--step 0 to --step 31");
}

#[test]
fn single_edges_are_told_as_what_they_are() {
    let said = |cut: &str| backcut(&["explain", cut, "--system", "quadrotor", "--steps", "6"]).out;
    let keys = said("FF:keys=D");
    assert!(keys.contains("Except: `keys` is\nclosed (D)."), "{keys}");
    assert!(
        keys.contains("nor W_K receives credit") && !keys.contains("nor W_K and W_V"),
        "{keys}"
    );
    let velocity = said("FF:velocity=A0.5");
    assert!(velocity.contains("`velocity` passes 0.5 of its credit (A0.5)"), "{velocity}");
    assert!(velocity.contains("STATE edges (=) are scaled, some or all"), "{velocity}");
    let observation = said("FF:observation=D");
    let row = observation.lines().find(|line| line.contains("value `observation`")).unwrap();
    assert_eq!(row.split_whitespace().rev().take(3).collect::<Vec<_>>(), ["6", "6", "0"]);
    assert!(keys.lines().all(|line| line.chars().count() <= 80), "{keys}");
}
