//! `backcut measure`: measurements at the states that checkpoints hold.

mod analytic;
mod memory;
mod probe;
mod states;
mod tidy;

use anyhow::Result;

use crate::exit::Verdict;

/// Options of `backcut measure`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// What a policy reads from its memory: masked history, donor histories, attention, input weights.
    Memory(memory::Args),
    /// How much of the true velocity can be read off each layer's stored representation.
    Probe(probe::Args),
    /// Local diagnostics against persistent training on the analytic system, and E1's construction.
    Analytic(analytic::Args),
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    match &args.what {
        What::Memory(args) => memory::run(args),
        What::Probe(args) => probe::run(args),
        What::Analytic(args) => analytic::run(args),
    }
}
