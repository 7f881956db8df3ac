//! The `backcut` binary: parse, resolve, one match, print.
//!
//! Data goes to stdout, messages to stderr. Exit codes: 0 fine, 1 a check or a prediction failed,
//! 2 the user's input is wrong (with a hint), 3 internal.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod commands;
mod exit;
mod quadrotor;

#[derive(Parser)]
#[command(name = "backcut", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train a policy through known dynamics under a cut.
    Train(commands::train::Args),
    /// Evaluate a checkpoint on the fixed panel.
    Evaluate(commands::evaluate::Args),
    /// Try a spread of initial states against the paper's FF and memoryless errors.
    Calibrate(commands::calibrate::Args),
    /// Show what a checkpoint, export, log or run folder holds.
    Inspect(commands::inspect::Args),
    /// Write one batch, its rollout, and gradients and updates under cuts for other frameworks.
    Export(commands::export::Args),
    /// Paired source-level inference on a table of seeds and errors.
    Stats(commands::stats::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome: anyhow::Result<exit::Verdict> = match cli.command {
        Command::Train(args) => commands::train::run(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Stats(args) => commands::stats::run(&args),
    };
    exit::report(outcome)
}
