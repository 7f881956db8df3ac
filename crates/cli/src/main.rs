//! The `backcut` binary: parse, resolve, one match, print.
//!
//! Data goes to stdout, messages to stderr. Exit codes: 0 fine, 1 a check or a prediction failed,
//! 2 the user's input is wrong (with a hint), 3 internal.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod commands;
mod exit;

#[derive(Parser)]
#[command(name = "backcut", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Paired source-level inference on a table of seeds and errors.
    Stats(commands::stats::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome: anyhow::Result<exit::Verdict> = match cli.command {
        Command::Stats(args) => commands::stats::run(&args),
    };
    exit::report(outcome)
}
