//! The `backcut` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    backcut_cli::with(|app| app.run())
}
