//! The Python package's tests: a virtual environment of their own, a wheel, pytest.
//!
//! The environment lies in the target folder and is used again. It sees what Python has installed
//! already, so that PyTorch is tested where it is there. Its five gigabytes are not forced on
//! anybody: it is installed where `CI` or `BACKCUT_TORCH` is set.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::succeeds;

/// Whether Python can make an environment: Debian keeps that apart.
pub fn can_make_environments() -> bool {
    let code = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))";
    Command::new("python3").args(["-c", code]).output().is_ok_and(|output| output.status.success())
}

/// Builds the wheel, installs it and runs the tests against the command that `cargo test` has
/// built.
pub fn test() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let (package, environment) = (root.join("python"), target.join("python-tests"));
    let python = environment.join("bin/python");
    let run = |what: &str, command: &mut Command| {
        if succeeds(command) { Ok(()) } else { Err(format!("failed to {what}")) }
    };
    // One that a package's upgrade or a kill left behind half made is made again.
    if !succeeds(Command::new(&python).args(["-c", "import pip"])) {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear", "--system-site-packages"]).arg(&environment);
        run("make a Python environment", &mut make)?;
    }
    let pip = |words: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(words);
        pip
    };
    let requirements = package.join("tests/requirements.txt");
    run("install what the Python tests need", pip(&["-r"]).arg(&requirements))?;
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("CI") || is_set("BACKCUT_TORCH") {
        run("install PyTorch", &mut pip(&["torch"]))?;
    }
    let wheels = target.join("wheels");
    // Another version's wheel would be found beside the new one.
    let _ = std::fs::remove_dir_all(&wheels);
    let mut build = Command::new(&python);
    build.args(["-m", "maturin", "build", "--locked", "--quiet", "--interpreter"]).arg(&python);
    build.arg("--manifest-path").arg(package.join("Cargo.toml")).arg("--out").arg(&wheels);
    run("build the Python wheel", &mut build)?;
    let made = std::fs::read_dir(&wheels).map_err(|error| error.to_string())?;
    let wheel = made.flatten().map(|file| file.path()).next().ok_or("maturin made no wheel")?;
    run("install the wheel", pip(&["--force-reinstall", "--no-deps"]).arg(wheel))?;
    let mut tests = Command::new(&python);
    // Not from the package's own folder: there the sources would hide what was installed.
    tests.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]).arg(package.join("tests"));
    tests.current_dir(&target).env("BACKCUT", target.join("debug/backcut"));
    run("pass the Python tests", &mut tests)
}
