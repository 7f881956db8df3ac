//! Developer tasks. `cargo xtask test` makes sure that the system packages the tests need are
//! there, then runs every test of the workspace and of the Python package, and builds the
//! documentation, whose links must lead somewhere.

mod imports;
mod python;
mod size;
mod wide;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A program that some test starts, and the Debian package that holds it.
const NEEDED: &[(&str, &str)] = &[
    // What people see is tested at a pseudo-terminal.
    ("script", "bsdutils"),
    // The kill-and-resume tests end processes from outside.
    ("kill", "procps"),
    // Building zstd, for Parquet tables.
    ("cc", "gcc"),
    // The report's page is tested in a browser.
    ("chromium", "chromium"),
    // Instructions of an update, where the processor's counter is hidden.
    ("valgrind", "valgrind"),
    // A cluster of two nodes on this machine, for studies on Slurm.
    ("sbatch", "slurm-wlm"),
    ("slurmctld", "slurm-wlm"),
    ("slurmd", "slurm-wlm"),
    ("munged", "munge"),
    // The Python package.
    ("python3", "python3"),
];

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("test") => install_missing()
            .and_then(|()| test())
            .and_then(|()| document())
            .and_then(|()| python::test())
            .and_then(|()| size::print(&root())),
        Some("size") => size::print(&root()),
        Some("knots") => knots().map(|found| found.iter().for_each(|knot| println!("{knot}"))),
        Some("wide") => {
            wide::lines(&root()).map(|found| found.iter().for_each(|line| println!("{line}")))
        }
        _ => {
            eprintln!("usage: cargo xtask test | size | knots | wide");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn install_missing() -> Result<(), String> {
    let mut missing: Vec<&str> =
        NEEDED.iter().filter(|(program, _)| !is_installed(program)).map(|(_, p)| *p).collect();
    if !python::can_make_environments() {
        missing.push("python3-venv");
    }
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    let advice = format!("install these packages and run again: {}", missing.join(" "));
    if !is_root() || !is_installed("apt-get") {
        return Err(advice);
    }
    eprintln!("installing {}", missing.join(" "));
    let run = |args: &[&str]| succeeds(Command::new("apt-get").args(args));
    let install: Vec<&str> = ["install", "-y", "--no-install-recommends"]
        .into_iter()
        .chain(missing.iter().copied())
        .collect();
    if run(&["update"]) && run(&install) { Ok(()) } else { Err(advice) }
}

fn is_installed(program: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else { return false };
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

fn test() -> Result<(), String> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--locked"]);
    if succeeds(&mut command) { Ok(()) } else { Err("tests failed".into()) }
}

fn document() -> Result<(), String> {
    let mut command = cargo();
    command.args(["doc", "--workspace", "--no-deps", "--locked"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    if succeeds(&mut command) { Ok(()) } else { Err("the documentation has faults".into()) }
}

/// Every circle of modules in the workspace, in words.
fn knots() -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for (name, src) in size::crates(&root())? {
        for imports::Knot { parent, modules, of, imports } in imports::knots(&src)? {
            let (count, names) = (modules.len(), modules.join(", "));
            let imports = imports.join("\n    ");
            found.push(format!("{name}, {parent}: {count} of {of}: {names}\n    {imports}"));
        }
    }
    Ok(found)
}

/// The workspace's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn cargo() -> Command {
    Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
}

#[cfg(test)]
mod tests {
    use super::{knots, root, size};

    #[test]
    fn modules_form_no_circle() {
        let found = knots().unwrap();
        assert!(found.is_empty(), "{found:#?}");
    }

    /// Lines that are still wider; it only goes down.
    const LEFT: usize = 220;

    #[test]
    fn nothing_is_wider_than_a_hundred_columns() {
        let found = super::wide::lines(&root()).unwrap();
        assert!(found.len() <= LEFT, "{} lines: {found:#?}", found.len());
    }

    #[test]
    fn the_glossary_names_types_that_exist() {
        let text = std::fs::read_to_string(root().join("docs/glossary.md")).unwrap();
        let crates = size::crates(&root()).unwrap();
        let mut seen = 0;
        for row in text.lines().filter_map(|line| line.strip_prefix("| ")) {
            let Some(path) = row.split('`').nth(1) else { continue };
            let (name, kind) = path.split_once("::").unwrap();
            let words = size::words(&crates[name]).unwrap();
            assert!(words.contains(kind), "{path}");
            seen += 1;
        }
        assert!(seen >= 40, "{seen} nouns");
    }

    #[test]
    fn walks_name_files_that_exist() {
        for (title, names) in size::walks() {
            for name in names.into_iter().filter(|name| name.contains('/')) {
                assert!(root().join(name).exists(), "{title}: {name}");
            }
        }
    }
}
