//! Outputs that are no files, pipes that close, inputs without end, numbers without measure: each
//! gets one message, a code, and harms nothing.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use common::study::{StudyFolder, ending, tiny};

/// One error of the user's, with a hint.
#[track_caller]
fn refused(desk: &StudyFolder, line: &str, words: &str) {
    let seen = desk.backcut(line);
    assert_eq!(seen.code, 2, "{line}\n{}{}", seen.out, seen.err);
    assert!(seen.err.contains(words), "{line}\n{}", seen.err);
    let count = |start: &str| seen.err.lines().filter(|l| l.starts_with(start)).count();
    assert_eq!((count("error: "), count("hint: ")), (1, 1), "{line}\n{}", seen.err);
}

#[test]
fn out_does_not_replace_what_is_no_regular_file() {
    let desk = StudyFolder::new();
    let _held = UnixListener::bind(desk.path("socket")).unwrap();
    desk.write("victim", "dear");
    symlink(desk.path("victim"), desk.path("link")).unwrap();
    for out in ["socket", "link", "."] {
        refused(&desk, &format!("export --cuts FF --out {out}"), "not a regular file");
        refused(&desk, &format!("explain SEG-2 --dot {out}"), "not a regular file");
    }
    assert!(fs::metadata(desk.path("socket")).unwrap().file_type().is_socket());
    assert!(fs::symlink_metadata(desk.path("link")).unwrap().is_symlink());
    assert_eq!(fs::read(desk.path("victim")).unwrap(), b"dear");
}

#[test]
fn out_does_not_write_through_a_planted_link() {
    let desk = StudyFolder::new();
    desk.write("victim", "dear");
    symlink(desk.path("victim"), desk.path(".e.safetensors.tmp")).unwrap();
    desk.fine("export --cuts FF --out e.safetensors");
    assert_eq!(fs::read(desk.path("victim")).unwrap(), b"dear");
    assert!(fs::symlink_metadata(desk.path("e.safetensors")).unwrap().is_file());
}

/// A device that takes nothing: every write says that there is no space.
fn full() -> Stdio {
    fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// A pipe whose reader has left.
fn closed() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

fn small_study() -> StudyFolder {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 4, ""));
    desk
}

#[test]
fn a_deaf_standard_error_stops_no_work() {
    let desk = small_study();
    for (out, deaf) in [("full", full as fn() -> Stdio), ("closed", closed)] {
        let mut command = desk.command(&format!("study run s.toml --out {out} --jobs 1"));
        let status = command.stdout(Stdio::null()).stderr(deaf()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{out}");
        assert_eq!(ending(&desk.path(out), ".done.json").len(), 8);
        for (line, code) in [
            (format!("export --cuts FF --out {out}.safetensors"), 0),
            (format!("train quadrotor --updates 2 --out {out}-run"), 0),
            ("study run no.toml".into(), 2),
            ("no-such-command".into(), 2),
        ] {
            let status = desk.command(&line).stdout(Stdio::null()).stderr(deaf()).status();
            assert_eq!(status.unwrap().code(), Some(code), "{line} to a {out} one");
        }
        assert!(desk.path(&format!("{out}.safetensors")).exists());
    }
}

#[test]
fn standard_output_that_is_full_is_told_and_what_was_done_is_kept() {
    let desk = small_study();
    let lines = ["study freeze s.toml --out o", "explain FF", "study plan s.toml", "--help"];
    for line in lines {
        let output = desk.command(line).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}\n{said}");
        let start = "error: failed to write to standard output: No space left on device";
        assert!(said.starts_with(start) && said.contains("\nhint: "), "{line}\n{said}");
    }
    assert!(desk.fine("study status s.toml --out o").contains("in entry 0"));
}

#[test]
fn a_reader_that_left_is_no_failure() {
    let desk = small_study();
    for line in [
        "explain FF",
        "study plan s.toml",
        "study plan s.toml --json",
        "--help",
        "completions bash",
        "man",
        "report list",
    ] {
        let output = desk.command(line).stdout(closed()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(141), "{line}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{line}");
    }
}

#[test]
fn text_of_a_file_does_not_act_on_the_terminal() {
    let desk = StudyFolder::new();
    let text = tiny("s", 4, "").replace("A tiny study", "\\u001B]0;owned\\u0007\\nfake: line");
    desk.write("s.toml", &text.replace("[arms.F_SG]", "[arms.\"F\\u009B2J\"]"));
    for line in ["study plan s.toml", "study plan s.toml --json", "study status s.toml"] {
        let seen = desk.backcut(line);
        let shown = seen.out + &seen.err;
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{line}\n{shown:?}");
        assert!(!shown.contains("\nfake: line"), "{line}\n{shown}");
    }
    assert!(desk.ends(2, "study plan no\u{1b}[2J.toml").contains("no[U+001B][2J.toml"));
}

#[test]
fn inputs_without_an_end_are_not_read() {
    let desk = small_study();
    fs::create_dir(desk.path("o")).unwrap();
    let pipe = |name: &str| {
        let made = std::process::Command::new("mkfifo").arg(desk.path(name)).status();
        assert!(made.unwrap().success());
    };
    ["p.toml", "p.csv", "p.safetensors", "o/ledger.jsonl"].into_iter().for_each(pipe);
    let reuse = tiny("r", 4, "[[reuse]]\nstudy = \"/dev/zero\"\narms = [\"FF\"]\n");
    desk.write("r.toml", &reuse);
    for line in [
        "study plan p.toml",
        "study plan /dev/zero",
        "study plan r.toml",
        "study freeze s.toml --out o",
        "study status s.toml --out o",
        "study verify o",
        "stats p.csv --values a",
        "stats /dev/zero --values a",
        "evaluate p.safetensors",
        "evaluate /dev/zero",
        "inspect p.safetensors",
        "train quadrotor --from p.safetensors --out t",
    ] {
        refused(&desk, line, "it is a pipe, a socket or a device, not a regular file");
    }
}

#[test]
fn numbers_without_measure_are_refused() {
    let desk = small_study();
    desk.write("zero.toml", &tiny("s", 4, "").replace("evaluate_every = 1", "evaluate_every = 0"));
    desk.write("nan.toml", &tiny("s", 4, "").replace("velocity = 0.2", "velocity = nan"));
    desk.write("semicolons.csv", "seed;a\n1;2\n2;3\n");
    for (line, words) in [
        ("study run s.toml --jobs 99999999999", "--jobs 99999999999: at most 4096 units"),
        ("reproduce --jobs 99999999999 --out q", "--jobs 99999999999: at most 4096 units"),
        ("check --width=100000000", "--width 100000000"),
        ("check --layers=0", "--layers 0"),
        ("check --heads=0", "--heads 0"),
        ("check --steps=100000000", "--steps 100000000"),
        ("check --rows=100000000", "--rows 100000000"),
        ("check --rows=1024 --steps=1024", "35,970,351,104 numbers"),
        ("study replay o --sample 0", "--sample 0 replays nothing"),
        ("study plan zero.toml", "arm `FF`: evaluate_every = 0"),
        ("study plan nan.toml", "nan.toml: 0.20: velocity is not a finite number"),
        ("stats semicolons.csv --values a", "separated by ';'"),
        ("train quadrotor --clip -1 --out t", "optimizer.clip = -1, not a positive number"),
    ] {
        refused(&desk, line, words);
    }
    let said = desk.ends(2, "measure gradient --of x --checkpoint y");
    assert!(said.contains("'--of <ARM@CONDITION>...' cannot be used with '--checkpoint"), "{said}");
    assert!(!desk.path("q").exists() && !desk.path("t").exists());
}

#[test]
fn a_folder_that_was_misspelt_is_not_made() {
    let desk = small_study();
    desk.fine("study run s.toml --out out");
    for line in ["study collect s.toml --out oot", "study watch s.toml --out oot"] {
        refused(&desk, line, "oot: no such folder");
    }
    assert!(!desk.path("oot").exists());
    refused(&desk, "vessel show oot", "oot/store.json");
}

#[test]
fn a_script_that_is_not_there_is_missed_before_anything_runs() {
    let desk = StudyFolder::new();
    let study = "name = \"p\"\ntitle = \"A program\"\n[system]\ncommand = [\"python3\", \
                 \"nosuch.py\"]\n[sources]\nfirst = 1\ncount = 4\n[arms]\na = { settings = { x = 0 \
                 } }\n";
    desk.write("p.toml", study);
    refused(&desk, "study plan p.toml", "there is no file \"nosuch.py\"");
    desk.write("there.toml", &study.replace("nosuch.py", "there.py")).write("there.py", "");
    desk.fine("study plan there.toml");
}

#[test]
fn states_of_two_systems_have_no_median() {
    let desk = StudyFolder::new();
    desk.fine("train quadrotor --updates 1 --out a");
    desk.fine("train cart-pole --updates 1 --out b");
    refused(&desk, "measure gradient --checkpoint a b", "no median holds both");
    assert_eq!(desk.backcut("measure gradient --checkpoint a a").code, 0);
}

#[test]
fn numbers_of_tables_are_missed_by_name() {
    let desk = StudyFolder::new();
    desk.write("t.csv", "seed,FF@0.20,w1@0.20\n1,1.0\n");
    refused(&desk, "stats t.csv --values FF@0.20", "t.csv: failed to read the table");
    desk.write("t.csv", "seed,FF@0.20,w1@0.20\n1,1.0,2.0\n");
    let seen = desk.backcut("stats t.csv --values FFF@0.20");
    assert!(seen.err.contains("hint: did you mean `FF@0.20`?"), "{}", seen.err);
    refused(&desk, "train quadrotor --noise=-1", "it is finite and not below zero");
    refused(&desk, "train quadrotor --noise abc", "or `hidden`");
}
