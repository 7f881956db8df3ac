//! The `backcut` binary.

use std::process::ExitCode;

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method by its name is one for a single lifetime"
)]
fn main() -> ExitCode {
    backcut_cli::with(|app| app.run())
}
