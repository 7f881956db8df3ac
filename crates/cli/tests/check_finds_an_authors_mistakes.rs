//! `check --system` agrees with the oracle on every system there is, and names what an author got
//! wrong.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::example;
use serde_json::Value;

fn backcut() -> PathBuf {
    env!("CARGO_BIN_EXE_backcut").into()
}

fn run(program: &Path, line: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(program).args(line.split_whitespace()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn every_system_agrees_with_the_oracle() {
    let fleet = r#"--set data={"ships":6,"days":6,"seed":1}"#;
    let sizes = r#"--set preset={"width":8,"heads":2,"observed":4,"predicted":9,"key_points":4}"#;
    for line in [
        "--system quadrotor --noise 0.20 --set policy.width=16 --set batch=4",
        "--system analytic",
        "--system cart-pole",
        "--system delayed-cue",
        &format!("--system vessel {fleet} {sizes}"),
    ] {
        let line = format!("check --rows 2 --steps 4 --json {line}");
        let (code, out, err) = run(&backcut(), &line);
        assert_eq!(code, Some(0), "{line}\n{out}{err}");
        let found: Value = serde_json::from_str(&out).unwrap();
        let cuts = found["cuts"].as_array().unwrap();
        assert_eq!(found["problems"].as_array().unwrap().len(), 0);
        let known = cuts.len() + found["unfit"].as_array().unwrap().len();
        assert!(known > 14, "every kind, and the edges by name: {line}\n{out}");
        assert!(cuts.len() >= 6, "{line}\n{out}");
        for cut in cuts {
            assert!(cut["error"].as_f64().unwrap() < 1e-10, "{line}: {cut}");
        }
    }
}

#[test]
fn mistakes_are_named_with_step_and_row() {
    let program = example("broken-systems");
    for (fault, words) in [
        ("action", "the loss ignores the action"),
        ("sampler", "the sampler is not a function of its seed"),
        ("stale", "leaves numbers of the batch before: it did not write initial value of `"),
        ("input", "not finite: input `target`, trajectory 2, step 3"),
        ("step", "step 3, trajectory 2"),
    ] {
        let (code, out, err) = run(&program, &format!("check --system broken --set fault={fault}"));
        assert_eq!(code, Some(1), "{fault}\n{out}{err}");
        assert!(out.contains("wrong in broken") && out.contains(words), "{fault}\n{out}{err}");
    }
    // A width that changes is found while the step is traced, with the line of the author's own
    // file.
    let (code, out, err) = run(&program, "check --system broken --set fault=width");
    assert_eq!(code, Some(2), "{out}{err}");
    assert!(err.contains("`position`") && err.contains("broken-systems.rs"), "{err}");
    let (code, out, err) = run(&program, "check --system broken");
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("K2_SEG-2") && out.contains("all within tolerance"), "{out}");
}

#[test]
fn what_makes_no_sense_gets_an_answer() {
    for (line, words) in [
        ("check --system nothing", "nothing"),
        ("check --set noise=1", "settings without a system"),
        ("check --system analytic --steps 2", "--steps 2"),
        ("check --system analytic --width 4", "--width"),
    ] {
        let (code, _, err) = run(&backcut(), line);
        assert_eq!(code, Some(2), "{line}: {err}");
        assert!(err.contains(words), "{line}: {err}");
    }
}
