//! Runs the binary as a user does.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod study;

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
