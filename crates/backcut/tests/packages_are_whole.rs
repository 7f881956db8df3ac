//! A crate is published alone: what its code compiles in lies in its own folder.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::path::{Component, Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The files that a source names in `include_str!` and its like.
fn included(text: &str) -> Vec<&str> {
    let after =
        ["include_str!(", "include_bytes!(", "include!("].map(|name| text.split(name).skip(1));
    let quoted =
        |rest: &'_ str| rest.trim_start().strip_prefix('"')?.split('"').next().map(str::len);
    let word = |rest| quoted(rest).map(|n| &rest.trim_start()[1..=n]);
    after.into_iter().flatten().filter_map(word).collect()
}

/// Whether a path, from a folder this deep in its crate, stays in the crate.
fn stays(path: &str, depth: usize) -> bool {
    let mut depth = depth;
    Path::new(path).components().all(|part| match part {
        Component::ParentDir => depth.checked_sub(1).map(|up| depth = up).is_some(),
        Component::Normal(_) => {
            depth += 1;
            true
        }
        _ => false,
    })
}

#[test]
fn what_leaves_a_crate_is_seen() {
    assert_eq!(included("include_str!(\n  \"../a.csv\") include_bytes!(\"b\")"), ["../a.csv", "b"]);
    assert!(stays("../data/a.csv", 1) && stays("page.css", 1));
    assert!(!stays("../../stats/tests/a.csv", 1) && !stays("/etc/a", 1));
}

#[test]
fn no_crate_compiles_in_another_crates_files() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seen = 0;
    for folder in std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        let mut found = Vec::new();
        sources(&folder.join("src"), &mut found);
        for file in found {
            let text = std::fs::read_to_string(&file).unwrap();
            let depth = file.strip_prefix(&folder).unwrap().components().count() - 1;
            for path in included(&text) {
                seen += 1;
                assert!(stays(path, depth), "{}: {path} is not in its package", file.display());
            }
        }
    }
    assert!(seen > 8, "{seen} files");
}
