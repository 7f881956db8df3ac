//! Runs the binary as a user does.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod study;

use std::path::PathBuf;

use assert_cmd::Command;

pub struct Seen {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn backcut(args: &[&str]) -> Seen {
    let output = Command::cargo_bin("backcut").unwrap().args(args).output().unwrap();
    Seen {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A program beside the binary. `cargo test` has built it with the rest of the workspace; if a
/// single test was asked for, it is built now.
pub fn example(name: &str) -> PathBuf {
    let binary = PathBuf::from(assert_cmd::cargo::cargo_bin!("backcut"));
    let folder = binary.parent().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = std::process::Command::new(cargo);
    build.args(["build", "--locked", "--workspace", "--example", name, "--target-dir"]);
    build.arg(folder.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("examples").join(name)
}
