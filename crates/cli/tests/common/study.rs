//! A small study in a folder of its own, and the commands on it.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::Seen;
use tempfile::TempDir;

/// The tables that are a function of the definitions alone.
pub const TABLES: [&str; 3] = ["observations.csv", "units.csv", "analysis.csv"];

/// A study of a tiny policy: FF, and F_SG branching from it; `updates` sets how long units take.
pub fn tiny(name: &str, updates: u64, more: &str) -> String {
    let (half, quarter) = (updates / 2, (updates / 4).max(1));
    format!(
        r#"
name = "{name}"
title = "A tiny study"
evaluate_every = {quarter}
[system]
name = "quadrotor"
settings = {{ policy = {{ steps = 8, width = 16, layers = 1, heads = 2, hidden = 16, initialisation = "gpt" }} }}
[sources]
first = 1
count = 4
[conditions]
"0.20" = {{ velocity = 0.2 }}
[arms.FF]
cut = "FF"
updates = {updates}
keep = [{updates}]
[arms.F_SG]
from = "FF"
at = {half}
cut = "F_SG"
updates = {updates}
{more}"#
    )
}

/// A family with a prediction.
pub fn family(asks: &str) -> String {
    format!(
        "[[families]]\nname = \"cost\"\nasks = \"{asks}\"\ncontrasts = [\"R = [F_SG@0.20] - \
         [FF@0.20] > 0\"]\n"
    )
}

/// A measurement of both arms' last states.
pub const MASKING: &str =
    "[[measurements]]\nkind = \"masking\"\nwindows = [1, 2]\nof = [\"FF\", \"F_SG\"]\n";

/// A folder in which commands run.
pub struct StudyFolder(TempDir);

impl StudyFolder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    /// The binary, about to run here. Arguments are separated by blanks.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("backcut"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    pub fn backcut(&self, line: &str) -> Seen {
        let output = self.command(line).output().unwrap();
        let seen = Seen {
            code: output.status.code().expect("it ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!seen.err.contains("panicked"), "{line}\n{}", seen.err);
        assert!(!(seen.out.contains("NaN") || seen.err.contains("NaN")), "{line}\n{}", seen.out);
        seen
    }

    /// Runs a line that must end with a code; returns everything it said.
    #[track_caller]
    pub fn ends(&self, code: i32, line: &str) -> String {
        let seen = self.backcut(line);
        assert_eq!(seen.code, code, "{line}\n{}{}", seen.out, seen.err);
        seen.out + &seen.err
    }

    #[track_caller]
    pub fn fine(&self, line: &str) -> String {
        self.ends(0, line)
    }

    /// Starts a line, in silence.
    pub fn start(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The bytes of the tables that do not depend on the moment.
    pub fn tables(&self, out: &str, study: &str) -> Vec<(&'static str, Vec<u8>)> {
        let folder = self.path(out).join("tables").join(study);
        let read = |name: &&'static str| Some((*name, std::fs::read(folder.join(name)).ok()?));
        TABLES.iter().filter_map(read).collect()
    }

    /// One table's rows, as columns by name.
    pub fn rows(&self, out: &str, study: &str, table: &str) -> Vec<Row> {
        let path = self.path(out).join("tables").join(study).join(table);
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        let names = fields(lines.next().unwrap());
        lines.map(|line| Row(names.iter().cloned().zip(fields(line)).collect())).collect()
    }
}

/// A row of a table.
pub struct Row(Vec<(String, String)>);

impl Row {
    #[track_caller]
    pub fn get(&self, name: &str) -> &str {
        &self.0.iter().find(|(n, _)| n == name).expect("a column of that name").1
    }
}

/// The fields of a line of CSV without line breaks in its fields.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

/// Every file below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The files whose name ends so.
pub fn ending(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = files(folder);
    found.retain(|path| path.to_string_lossy().ends_with(end));
    found
}

/// Changes one byte in the middle of a file.
pub fn change_a_byte(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
    std::fs::write(path, bytes).unwrap();
}
