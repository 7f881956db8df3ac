//! `backcut measure`: one state restored completely, one thing changed, the two compared.

mod chain;
mod cost;
mod figure;
mod gradient;
mod output;
mod replay;
mod states;
mod table;
mod update;

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
    /// What cuts do to the gradient: length, direction, parameter groups, ages.
    Gradient(gradient::Args),
    /// What the optimizer makes of it: clipped gradients and the updates really applied.
    Update(update::Args),
    /// How far a disturbance of the physical state grows along the closed loop.
    Chain(chain::Args),
    /// Time, memory and instructions of one update per cut.
    Cost(cost::Args),
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    match &args.what {
        What::Gradient(args) => gradient::run(args),
        What::Update(args) => update::run(args),
        What::Chain(args) => chain::run(args),
        What::Cost(args) => cost::run(args),
    }
}
