//! Outputs that are no files, pipes that close, inputs without end, numbers without measure: each gets
//! one message, a code, and harms nothing.
#![cfg(unix)]

mod common;

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::os::unix::net::UnixListener;

use common::study::StudyFolder;

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
