//! What does a stop-gradient cost? One forward, any backward graph, every command, on your own system.
//!
//! **Does**: gathers what a system of one's own needs ([`prelude`]) and runs the whole command line over
//! any catalogue ([`main_with`]): `train`, `evaluate`, `export`, `measure`, `bench`, `study`, `report`.
//!
//! **Refuses**: to compute. A command parses, resolves, calls one library function and prints.
//!
//! **One design decision.** The `backcut` binary is the first user of this library: it passes the
//! catalogue of built-in systems and nothing else, so whatever it can do, a program of one's own can.
//!
//! Data goes to stdout, messages to stderr. Exit codes: 0 fine, 1 a check or a prediction failed,
//! 2 the user's input is wrong (with a hint), 3 internal.

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "only `say` prints")]

use std::process::ExitCode;

use backcut_study::Tools;
use backcut_systems::Catalogue;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

mod commands;
mod common;
mod exit;
mod look;
mod optimizer;
pub mod prelude;
mod progress;
mod say;
mod settings;
mod shape;

/// For `#[serde(crate = "backcut::serde")]`: a system of one's own needs no other dependency.
pub use serde;

#[derive(Parser)]
#[command(name = "backcut", version, about, arg_required_else_help = true, max_term_width = 140)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What a cut keeps and what it cuts: words, a drawing, counts, and the reach of a loss.
    Explain(commands::explain::Args),
    /// Run the oracles on small programs or on a system's own, and print the errors.
    Check(commands::check::Args),
    /// Measure products, training updates, long rollouts and threads on this machine.
    Bench(commands::bench::Args),
    /// Train a policy through known dynamics under a cut.
    Train(commands::train::Args),
    /// Evaluate a checkpoint on the fixed panel.
    Evaluate(commands::evaluate::Args),
    /// Score candidate configurations of the quadrotor by what the paper publishes where nothing is cut.
    Calibrate(commands::calibrate::Args),
    /// Show what a checkpoint, export, log or run folder holds.
    Inspect(commands::inspect::Args),
    /// Write one batch, its rollout, and gradients and updates under cuts for other frameworks.
    Export(commands::export::Args),
    /// Run built-in studies and end in a page beside the paper.
    Reproduce(commands::reproduce::Args),
    /// Measure at a state: what a cut does to gradient and update, what memory is used for.
    Measure(commands::measure::Args),
    /// Studies: plan, freeze, run, collect, verify many runs at once.
    Study(commands::study::Args),
    /// Paired source-level inference on a table of seeds and errors.
    Stats(commands::stats::Args),
    /// A finished study in plain sentences: what memory is worth, what a cut costs.
    Advise(commands::advise::Args),
    /// Figures, tables and one page from collected results.
    Report(commands::report::Args),
    /// Ships' tracks: import files, make a synthetic fleet, show a store.
    Vessel(commands::vessel::Args),
    /// Print a completion script for a shell.
    Completions(commands::completions::Args),
    /// Print the manual page, or write one page per command into a folder.
    Man(commands::man::Args),
}

impl Command {
    /// It trains, measures or times something, so that speed matters.
    fn computes(&self) -> bool {
        matches!(
            self,
            Self::Bench(_)
                | Self::Train(_)
                | Self::Evaluate(_)
                | Self::Calibrate(_)
                | Self::Reproduce(_)
                | Self::Measure(_)
                | Self::Study(_)
        )
    }
}

/// What to say of a build at an optimisation level.
fn unoptimised(level: &str) -> Option<&'static str> {
    (level == "0").then_some(
        "note: this is an unoptimised build, some hundred times slower than `cargo run --release`; \
         the results are the same",
    )
}

/// Runs the command line over a catalogue of systems.
pub fn main_with(catalogue: &Catalogue) -> ExitCode {
    let command = settings::offer_flags(Cli::command(), &catalogue.flags());
    let matches = command.clone().try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(answer) => return exit::answer(&answer),
    };
    if cli.command.computes()
        && let Some(warning) = unoptimised(backcut_engine::OPT_LEVEL)
    {
        say::note!("{warning}");
    }
    let tools = Tools::new(catalogue);
    let outcome: anyhow::Result<exit::Verdict> = match cli.command {
        Command::Explain(args) => commands::explain::run(&args, tools),
        Command::Check(args) => commands::check::run(&args, tools),
        Command::Bench(args) => commands::bench::run(&args, tools),
        Command::Train(args) => commands::train::run(&args, tools),
        Command::Evaluate(args) => commands::evaluate::run(&args, tools),
        Command::Calibrate(args) => commands::calibrate::run(&args, tools),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Export(args) => commands::export::run(&args, tools),
        Command::Reproduce(args) => commands::reproduce::run(&args, tools),
        Command::Measure(args) => commands::measure::run(&args, tools),
        Command::Study(args) => commands::study::run(&args, tools),
        Command::Stats(args) => commands::stats::run(&args),
        Command::Advise(args) => commands::advise::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Vessel(args) => commands::vessel::run(&args, tools),
        Command::Completions(args) => commands::completions::run(&args, command),
        Command::Man(args) => commands::man::run(&args, command),
    };
    exit::report(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unoptimised_build_is_spoken_of() {
        assert!(unoptimised("0").is_some());
        assert!(["1", "2", "3", "s", "z"].into_iter().all(|level| unoptimised(level).is_none()));
        assert!(["0", "1", "2", "3", "s", "z"].contains(&backcut_engine::OPT_LEVEL));
    }
}
