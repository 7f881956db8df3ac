//! A system written against the prelude alone has every command.
//!
//! `examples/own-system` is a package of its own with one dependency; here its file is an example
//! of this crate, so that it is compiled and run whenever the tests are.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

#[path = "common/own_system.rs"]
mod own_system;

use std::path::Path;
use std::process::{Command, Output};

use own_system::{built, package};

fn run(program: &Path, folder: &Path, line: &str) -> Output {
    Command::new(program).current_dir(folder).args(line.split_whitespace()).output().unwrap()
}

fn fine(program: &Path, folder: &Path, line: &str) -> String {
    let output = run(program, folder, line);
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{line}\n{out}\n{err}");
    format!("{out}{err}")
}

#[test]
fn trained_measured_exported_studied_and_reported() {
    let (program, root) = (built(), tempfile::tempdir().unwrap());
    let here = root.path();
    let shown = fine(&program, here, "train mass --cut F_SG --window 4 --updates 20 --out run");
    assert!(shown.contains("squared distance to the target"), "{shown}");
    let shown = fine(&program, here, "evaluate run/checkpoint.safetensors --set noise=0.2");
    assert!(shown.contains("mass, noise 0.2, window 4"), "{shown}");
    let shown = fine(&program, here, "measure gradient --checkpoint run --cuts FF,F_SG,SEG-4");
    assert!(shown.contains("SEG-4"), "{shown}");
    let masking = "measure any masking --with windows=[1,2] --checkpoint run";
    assert!(fine(&program, here, masking).contains("w=1"));
    let other = "train mass --optimizer sgd --rate 0.001 --momentum 0.9 --clip none --updates 5 \
                 --group *.bias:decay=0,rate=0.5 --out sgd";
    assert!(fine(&program, here, other).contains("5 updates without a clip"));
    let shown = fine(&program, here, "measure update --checkpoint sgd --cuts FF,F_SG --groups");
    assert!(shown.contains("not defined for SGD"), "{shown}");
    let probe = "measure any probe --with target=velocity --with token=push --with stored=.stored \
                 --checkpoint run --out probed";
    assert!(fine(&program, here, probe).contains("block0.stored"));
    assert!(
        here.join("probed/probe.csv").exists() && here.join("probed/probe.probe.r2.svg").exists()
    );
    assert!(fine(&program, here, "check --system mass").contains("all within tolerance"));
    assert!(fine(&program, here, "explain SEG-4 --steps 12").contains("SEG-4"));
    assert!(fine(&program, here, "explain SEG-4 --system mass").contains("`block0`"));
    let measured = fine(&program, here, "bench --quick --json --system mass");
    assert!(measured.contains("\"system\": \"mass, "), "{measured}");
    let cuts = "FF,FD,F_SG,F_A0.5,SEG-4,KF,K4_SG,K2_SEG-2,K4_A0.5";
    fine(&program, here, &format!("export --cuts {cuts} --precision f64 --out batch.safetensors"));
    assert!(fine(&program, here, "inspect batch.safetensors").contains("output/push"));

    let study = std::fs::read_to_string(package().join("study.toml")).unwrap();
    std::fs::write(here.join("study.toml"), study.replace("updates = 200", "updates = 20"))
        .unwrap();
    fine(&program, here, "study freeze study.toml");
    fine(&program, here, "study run study.toml");
    run(&program, here, "study collect study.toml"); // exit code 1 if a prediction failed
    fine(&program, here, "study verify backcut-results");
    assert!(fine(&program, here, "study replay backcut-results --sample 4").contains("4 of 4"));
    fine(&program, here, "report page backcut-results/tables --out page.html");
    let advice = run(&program, here, "advise --study backcut-results/tables/mass");
    assert!(!advice.stdout.is_empty(), "{}", String::from_utf8_lossy(&advice.stderr));
    let page = std::fs::read_to_string(here.join("page.html")).unwrap();
    assert!(page.contains("memoryless") && !page.contains("velocity noise"));
}

#[test]
fn what_serves_one_paper_is_not_offered() {
    let (program, root) = (built(), tempfile::tempdir().unwrap());
    let help = run(&program, root.path(), "--help");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for command in ["reproduce", "calibrate", "vessel"] {
        assert!(!help.contains(&format!("  {command}")), "{help}");
    }
    for line in [
        "reproduce",
        "calibrate --pilot",
        "vessel show store",
        "measure analytic",
        "measure orderings tables",
        "measure streams",
        "report finding results",
        "report reproduction results",
        "report page results --paper",
        "train vessel",
        "check --system analytic",
        "study plan quick",
    ] {
        let output = run(&program, root.path(), line);
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
    for script in ["completions bash", "man"] {
        let text = fine(&program, root.path(), script);
        assert!(!text.contains("reproduce") && !text.contains("vessel"), "{script}");
    }
}

#[test]
fn an_arm_cannot_train_something_else_than_it_says() {
    let (program, root) = (built(), tempfile::tempdir().unwrap());
    let study = std::fs::read_to_string(package().join("study.toml")).unwrap();
    let wrong = study.replace("settings = { window = 1 }", "settings = { windw = 1 }");
    assert_ne!(study, wrong);
    std::fs::write(root.path().join("wrong.toml"), wrong).unwrap();
    let output = run(&program, root.path(), "study plan wrong.toml");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("arm `memoryless`") && message.contains("windw"), "{message}");
    assert!(!root.path().join("backcut-results").exists());
}
