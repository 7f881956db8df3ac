//! What the guides show is what the program prints. Blocks marked `console` are run, in order, in
//! one folder per guide, and compared with what stands below each command; blocks of TOML or Python
//! whose first line names a file are written to it first.
//!
//! Times, dates, hashes of moments and process numbers are compared by shape. `...` stands for
//! anything, alone on a line for any lines. To write new output into the guides, run this test with
//! `BACKCUT_WRITE_DOCS=1` and look at the difference.

#![allow(clippy::unwrap_used, reason = "helpers of a test may fail it")]

#[path = "../../backcut/tests/common/own_system.rs"]
mod own_system;

use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a line of a shell; what it wrote to both streams. `cargo run` of the guide to a system of
/// one's own starts the example's program, which the tests have built.
fn shell(line: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_backcut"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let mut command = Command::new("sh");
    let line = if line.starts_with("cargo run --release -- ") {
        line.replace("cargo run --release --", &own_system::built().display().to_string())
    } else {
        line.to_owned()
    };
    command.arg("-c").arg(format!("{{ {line}\n}} 2>&1")).current_dir(folder).env("PATH", path);
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

/// What differs between two runs, replaced by a word; lines that only slow machines print, left
/// out.
fn shape(text: &str) -> Vec<String> {
    let rules = [
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", "MOMENT"),
        (r"(head +)[0-9a-f]{64}", "${1}HASH"),
        (r"\([0-9.]+ s\)", "(DURATION)"),
        (r" in [0-9.]+ (s|min|h)$", " in DURATION"),
    ];
    let rules = rules.map(|(pattern, word)| (Regex::new(pattern).unwrap(), word));
    let progress =
        Regex::new(r"^([a-z0-9-]+: [0-9,]+ units?, [0-9,]+ updates?,|update [0-9]+/).* elapsed")
            .unwrap();
    let line = |line: &str| {
        let apply = |text: String, (rule, word): &(Regex, &str)| {
            rule.replace_all(&text, *word).into_owned()
        };
        rules.iter().fold(line.trim_end().to_owned(), apply)
    };
    text.lines().filter(|text| !progress.is_match(text)).map(line).collect()
}

/// Whether lines are as shown, where `...` stands for what was left out.
fn is_as_shown(shown: &[String], printed: &[String]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "..." => {
            (0..=printed.len()).any(|skip| is_as_shown(rest, &printed[skip..]))
        }
        (Some((shown, rest)), Some((line, after))) => {
            is_line_as_shown(shown, line) && is_as_shown(rest, after)
        }
        _ => false,
    }
}

fn is_line_as_shown(shown: &str, line: &str) -> bool {
    let parts: Vec<String> = shown.split("...").map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).unwrap().is_match(line)
}

#[test]
fn shapes_and_gaps() {
    let lines = |text: &str| shape(text);
    assert!(is_as_shown(&lines("a\n...\nd...f"), &lines("a\nb\nc\nd e f")));
    assert!(!is_as_shown(&lines("a\n...\nd"), &lines("a\nb\nc")));
    assert!(!is_as_shown(&lines("a"), &lines("a\nb")));
    assert_eq!(lines("done in 11 s"), lines("done in 3 min"));
    assert_ne!(lines("16 computed in 11 s"), lines("15 computed in 11 s"));
    assert_eq!(lines("s: 3 units, 60 updates, 11 s elapsed\nx"), ["x"]);
    assert_eq!(lines("update 20/40 loss 1.0 error -, 11 s elapsed\nx"), ["x"]);
}

/// A command of a block with what is shown below it.
struct Step {
    line: String,
    shown: String,
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(line), _) => steps.push(Step { line: line.to_owned(), shown: String::new() }),
            (None, Some(step)) if step.line.ends_with('\\') && step.shown.is_empty() => {
                step.line += &format!("\n{line}");
            }
            (None, Some(step)) => step.shown += &format!("{line}\n"),
            (None, None) => panic!("a console block begins with `$ `: {block}"),
        }
    }
    steps
}

/// Runs a guide; every difference, and the guide with what was printed.
fn run(guide: &str, folder: &Path) -> (Vec<String>, String) {
    let (mut wrong, mut written, mut rest) = (Vec::new(), String::new(), guide);
    while let Some(at) = rest.find("\n```") {
        let (before, from) = rest.split_at(at + 4);
        let (kind, body) = from.split_once('\n').expect("a fence ends its line");
        let (block, after) = body.split_once("\n```").expect("a block ends");
        let mut shown = block.to_owned();
        let first = block.lines().next().unwrap_or_default();
        let is_file = |name: &&str| {
            let ending = if kind == "toml" { ".toml" } else { ".py" };
            ["toml", "python"].contains(&kind) && !name.contains(' ') && name.ends_with(ending)
        };
        if let Some(name) = first.strip_prefix("# ").filter(is_file) {
            std::fs::write(folder.join(name), block).unwrap();
        }
        if kind == "console" {
            let mut now = String::new();
            for Step { line, shown } in steps(block) {
                let printed = shell(&line, folder);
                let is_current = is_as_shown(&shape(&shown), &shape(&printed));
                if !is_current {
                    wrong.push(format!("$ {line}\nshown:\n{shown}printed:\n{printed}"));
                }
                now += &format!("$ {line}\n{}", if is_current { &shown } else { &printed });
            }
            now.trim_end().clone_into(&mut shown);
        }
        written += &format!("{before}{kind}\n{shown}\n```");
        rest = after;
    }
    (wrong, written + rest)
}

fn is_current(name: &str, files: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let from = root().join(file);
        std::fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
    }
    let path = root().join("docs").join(name);
    let guide = std::fs::read_to_string(&path).unwrap();
    let (wrong, written) = run(&guide, folder.path());
    if std::env::var_os("BACKCUT_WRITE_DOCS").is_some() {
        std::fs::write(&path, written).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "docs/{name} is not what is printed:\n{}", wrong.join("\n"));
    assert_eq!(written, guide, "a guide that is current is written as it is");
}

#[test]
fn the_guide_to_studies() {
    is_current("studies.md", &[]);
}

#[test]
fn the_guide_to_statistics() {
    is_current("statistics.md", &["crates/paper/data/a6_noninferiority.csv"]);
}

#[test]
fn the_guide_to_measuring_memory() {
    is_current("measuring-memory.md", &[]);
}

#[test]
fn the_guide_to_cuts() {
    is_current("cuts.md", &[]);
}

#[test]
fn the_guide_to_tracks() {
    is_current("vessel-data.md", &[]);
}

#[test]
fn the_guide_to_programs_of_ones_own() {
    is_current("your-program.md", &[]);
}

#[test]
fn the_guide_to_systems_of_ones_own() {
    is_current("your-system.md", &["examples/own-system/study.toml"]);
}

#[test]
fn the_guide_to_slurm() {
    is_current("slurm.md", &[]);
}

#[test]
fn the_guide_to_the_vessel() {
    is_current("vessel.md", &[]);
}

#[test]
fn the_guides_to_scripts() {
    for (guide, example) in [("pytorch.md", "pytorch-gru"), ("jax.md", "jax-attention")] {
        let files = ["study.toml", "train.py"].map(|file| format!("examples/{example}/{file}"));
        is_current(guide, &files.each_ref().map(String::as_str));
    }
}

/// The guide to measuring shortens what it shows: every line of its indented blocks is one of the
/// lines that its commands print. What a cut costs is a property of a machine and is left out.
#[test]
fn the_guide_to_measuring() {
    let guide = std::fs::read_to_string(root().join("docs/measuring.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (guide, _) = guide.split_once("## What a cut costs").expect("that section is there");
    let (commands, shown): (Vec<&str>, Vec<&str>) = guide
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| !line.trim().is_empty())
        .partition(|line| line.starts_with("backcut "));
    let commands: Vec<&&str> = commands.iter().filter(|line| !line.contains(" cost ")).collect();
    assert!(commands.len() >= 4 && shown.len() > 40, "{commands:?}");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed: String = commands.iter().map(|line| shell(line, folder.path())).collect();
    let printed: Vec<String> = printed.lines().map(words).collect();
    let gone: Vec<&&str> = shown.iter().filter(|line| !printed.contains(&words(line))).collect();
    assert!(gone.is_empty(), "docs/measuring.md shows what is not printed:\n{gone:#?}");
}
