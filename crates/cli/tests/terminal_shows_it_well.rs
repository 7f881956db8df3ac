//! What a person at a terminal sees, through a pseudo-terminal of a given width (`script`): whole
//! words, colour where it is wanted, and as much width as there is. A pipe gets the same text
//! without any of it.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

mod common;

use std::path::Path;
use std::process::Command;

const ESCAPE: char = '\u{1b}';

/// Runs a line at a terminal so many columns wide; what is on the screen, line by line.
fn at_terminal(columns: usize, environment: &[(&str, &str)], line: &str) -> Vec<String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_backcut")).display();
    let typed = format!("stty cols {columns} rows 50; {binary} {line}");
    let mut command = Command::new("script");
    command.args(["-qec", &typed, "/dev/null"]);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color").envs(environment.iter().copied());
    let output = command.output().expect("`script` is part of every Linux");
    let text = String::from_utf8(output.stdout).unwrap();
    text.replace('\r', "").lines().map(str::to_owned).collect()
}

/// A line without its colours.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        out += before;
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    out + rest
}

fn widest(lines: &[String]) -> usize {
    lines.iter().map(|line| plain(line).chars().count()).max().unwrap_or(0)
}

#[test]
fn no_word_of_an_error_is_split() {
    let line = "stats nowhere/a-table-with-a-rather-long-name.csv --contrast '[a] - [b]'";
    let piped = common::backcut(&[
        "stats",
        "nowhere/a-table-with-a-rather-long-name.csv",
        "--contrast",
        "[a] - [b]",
    ]);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for columns in [80, 140] {
        let lines = at_terminal(columns, &[], line);
        assert!(widest(&lines) <= columns, "{lines:#?}");
        let shown: Vec<String> = lines.iter().map(|line| plain(line)).collect();
        assert_eq!(words(&shown.join("\n")), words(&piped.err), "every word is whole");
    }
    let narrow = at_terminal(80, &[], line);
    assert!(narrow.len() > piped.err.lines().count(), "it was too long for a line: {narrow:#?}");
    assert!(!piped.err.contains(ESCAPE));
}

#[test]
fn colour_is_for_whoever_wants_it() {
    let line = "explain FX";
    let coloured = at_terminal(80, &[], line);
    assert!(coloured[0].starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "), "{coloured:?}");
    assert!(coloured[1].starts_with("\u{1b}[36mhint:\u{1b}[0m "), "{coloured:?}");
    for environment in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
        let lines = at_terminal(80, &[environment], line);
        assert!(lines[0].starts_with("error: "), "{environment:?}: {lines:?}");
        assert!(!lines.concat().contains(ESCAPE), "{environment:?}: {lines:?}");
    }
}

#[test]
fn a_verdict_is_coloured_and_data_is_not() {
    let shown = at_terminal(80, &[], "check --layers 1 --steps 3 --rows 1").join("\n");
    assert!(shown.contains("\u{1b}[32mall within tolerance\u{1b}[0m"), "{shown}");
    let json = at_terminal(80, &[], "check --layers 1 --steps 3 --rows 1 --json").join("\n");
    assert!(!json.contains(ESCAPE) && json.starts_with('{'), "{json}");
}

#[test]
fn a_wide_terminal_is_used() {
    let narrow = at_terminal(80, &[], "explain F_SG --steps 60");
    let wide = at_terminal(140, &[], "explain F_SG --steps 60");
    assert!(widest(&narrow) <= 80 && (100..=140).contains(&widest(&wide)));
    assert!(narrow.iter().any(|line| line.contains("each cell stands for 2 x 2 steps")));
    assert!(!wide.iter().any(|line| line.contains("each cell")));
}

#[test]
fn tables_are_aligned_for_people_and_markdown_for_pipes() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/c5");
    let results = results.to_str().unwrap();
    let shown = at_terminal(80, &[], &format!("report table endpoints {results}"));
    assert!(!shown.iter().any(|line| line.starts_with('|')), "{shown:#?}");
    assert!(widest(&shown) <= 80, "{shown:#?}");
    let piped = common::backcut(&["report", "table", "endpoints", results]);
    assert!(piped.out.contains("| --- |"), "{}", piped.out);
    let asked = at_terminal(80, &[], &format!("report table endpoints {results} --format md"));
    assert_eq!(asked.join("\n").trim_end(), piped.out.trim_end());
    let text = common::backcut(&["report", "table", "endpoints", results, "--format", "text"]);
    let shown: Vec<String> = shown.iter().map(|line| plain(line)).collect();
    assert_eq!(shown.join("\n").trim_end(), text.out.trim_end(), "80 columns are the default");
}

#[test]
fn numbers_of_two_digits_do_not_run_together() {
    let shown = common::backcut(&["explain", "F_SG", "--steps", "32"]).out;
    assert!(!shown.contains("313029"), "{shown}");
    let at = shown.lines().position(|line| line.trim_start().starts_with("action ")).unwrap();
    let lines: Vec<&str> = shown.lines().skip(at).take(2).collect();
    assert_eq!(lines[0].split_whitespace().skip(1).collect::<String>(), "3322222222221111111111");
    assert_eq!(&lines[1][10..], "1 0 9 8 7 6 5 4 3 2 1 0 9 8 7 6 5 4 3 2 1 0 9 8 7 6 5 4 3 2 1 0");
}
