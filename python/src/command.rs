//! The command, for the console script that the wheel installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs a line of the `backcut` command, whose first word is the script's own path; gives its exit
/// code. Other threads of Python go on meanwhile.
#[pyfunction]
pub fn run(py: Python<'_>, line: Vec<OsString>) -> u8 {
    py.detach(|| backcut_cli::with(|app| app.run_line(line)))
}
