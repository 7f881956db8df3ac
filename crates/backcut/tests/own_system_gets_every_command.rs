//! A package outside the workspace, with one dependency, has every command on its own system.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-system")
}

/// Builds the package beside this workspace's own artifacts and returns its program.
fn built() -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_backcut")).parent().unwrap().parent().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--locked", "--manifest-path"]).arg(package().join("Cargo.toml"));
    let output = build.arg("--target-dir").arg(target).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("debug/own-system")
}

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
    fine(&program, here, "export --cuts FF,FD --precision f64 --out batch.safetensors");
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
    let page = std::fs::read_to_string(here.join("page.html")).unwrap();
    assert!(page.contains("memoryless") && !page.contains("velocity noise"));
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
