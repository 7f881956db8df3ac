//! The example of a system of one's own.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Its folder.
pub fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-system")
}

/// Its program. `cargo test` has built it with the rest of the workspace; if a single test was
/// asked for, it is built now.
pub fn built() -> PathBuf {
    // Tests lie in `deps`, beside `examples`.
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--locked", "--workspace", "--example", "own-system", "--target-dir"]);
    build.arg(folder.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("examples/own-system")
}
