//! What does a stop-gradient cost? One forward, any backward graph, every command, on your own
//! system.
//!
//! **Does**: gathers what a system of one's own needs ([`prelude`]) and runs the whole command line
//! over any catalogue ([`main_with`]): `train`, `evaluate`, `export`, `measure`, `bench`, `study`,
//! `report`.
//!
//! **Refuses**: to compute, to name a system, to know a publication. A command parses, resolves,
//! calls one library function and prints.
//!
//! **One design decision.** What only some programs have is handed in ([`App`]): systems, further
//! commands ([`command`]), a publication to set beside results ([`Publication`]). The `backcut`
//! binary hands in the paper and its vessel and has no other way, so whatever it can do, a program
//! of one's own can.
//!
//! Data goes to stdout, messages to stderr. Exit codes: 0 fine, 1 a check or a prediction failed,
//! 2 the user's input is wrong (with a hint), 3 internal.

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "only `say` prints")]

use backcut_study::Tools;
use clap::{Parser, Subcommand};

mod app;
pub mod command;
mod commands;
mod common;
mod exit;
mod look;
mod optimizer;
pub mod prelude;
mod program;
mod progress;
mod publication;
pub mod say;
mod settings;
mod shape;

pub use app::{App, main_with};
pub use publication::{Beside, Publication, Published};

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
    /// Show what a checkpoint, export, log or run folder holds.
    Inspect(commands::inspect::Args),
    /// Write one batch, its rollout, and gradients and updates under cuts for other frameworks.
    Export(commands::export::Args),
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
    // The last two, whatever commands a program adds.
    /// Print a completion script for a shell.
    #[command(display_order = 100)]
    Completions(commands::completions::Args),
    /// Print the manual page, or write one page per command into a folder.
    #[command(display_order = 101)]
    Man(commands::man::Args),
}

impl Command {
    /// It trains, measures or times something, so that speed matters.
    fn computes(&self) -> bool {
        matches!(
            self,
            Self::Bench(_) | Self::Train(_) | Self::Evaluate(_) | Self::Measure(_) | Self::Study(_)
        )
    }
    fn run(
        self,
        tools: Tools,
        publication: Option<&dyn Publication>,
        definition: clap::Command,
    ) -> anyhow::Result<exit::Verdict> {
        match self {
            Self::Explain(args) => commands::explain::run(&args, tools),
            Self::Check(args) => commands::check::run(&args, tools),
            Self::Bench(args) => commands::bench::run(&args, tools),
            Self::Train(args) => commands::train::run(&args, tools, publication),
            Self::Evaluate(args) => commands::evaluate::run(&args, tools, publication),
            Self::Inspect(args) => commands::inspect::run(&args),
            Self::Export(args) => commands::export::run(&args, tools),
            Self::Measure(args) => commands::measure::run(&args, tools),
            Self::Study(args) => commands::study::run(&args, tools),
            Self::Stats(args) => commands::stats::run(&args),
            Self::Advise(args) => commands::advise::run(&args),
            Self::Report(args) => commands::report::run(&args, publication),
            Self::Completions(args) => commands::completions::run(&args, definition),
            Self::Man(args) => commands::man::run(&args, definition),
        }
    }
}
