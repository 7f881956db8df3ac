//! The `backcut` binary: the command line over the systems that come with the project.

use std::process::ExitCode;

fn main() -> ExitCode {
    backcut::main_with(&backcut::prelude::Catalogue::builtin())
}
