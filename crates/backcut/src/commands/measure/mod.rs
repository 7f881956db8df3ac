//! `backcut measure`: one state restored completely, one thing changed, the two compared.

mod any;
mod chain;
mod cost;
mod figure;
mod gradient;
mod gradients;
mod lead;
mod memory;
mod output;
mod probe;
mod replay;
mod states;
mod study_states;
pub mod table;
mod update;

use anyhow::Result;
use backcut_study::Tools;

use crate::exit::Verdict;
use crate::say::out;

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
    /// The same for gradients made elsewhere: freely named arms in safetensors files.
    Gradients(gradients::Args),
    /// What the optimizer makes of it: clipped gradients and the updates really applied.
    Update(update::Args),
    /// How far a disturbance of the physical state grows along the closed loop.
    Chain(chain::Args),
    /// Time and memory of one update per cut.
    Cost(cost::Args),
    /// What a policy reads from its memory: masked and foreign history, attention, input weights.
    Memory(memory::Args),
    /// How much of what the policy must infer can be read off what each layer stores.
    Probe(probe::Args),
    /// Any measurement that a study file may hold, as one table of findings.
    Any(any::Args),
}

impl What {
    /// Its name, and whether its definitions are asked for instead of findings.
    fn defines(&self) -> (&str, bool) {
        match self {
            Self::Gradient(args) => ("gradient", args.states.define),
            Self::Gradients(args) => ("gradients", args.define),
            Self::Update(args) => ("update", args.states.define),
            Self::Chain(args) => ("chain", args.states.define),
            Self::Cost(args) => ("cost", args.states.define),
            Self::Memory(args) => ("memory", args.states.define),
            Self::Probe(args) => ("probe", args.states.define),
            Self::Any(args) => (&args.kind, args.states.define),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    if let (name, true) = args.what.defines() {
        // Gradients made elsewhere have the quantities of cuts' gradients, and some of their own.
        let also: &[&str] = if name == "gradients" { &["gradient", "update"] } else { &[] };
        for name in also.iter().chain([&name]) {
            out!("{}", table::defined(name))?;
        }
        return Ok(Verdict::Fine);
    }
    match &args.what {
        What::Gradient(args) => gradient::run(args, tools),
        What::Gradients(args) => gradients::run(args),
        What::Update(args) => update::run(args, tools),
        What::Chain(args) => chain::run(args, tools),
        What::Cost(args) => cost::run(args, tools),
        What::Memory(args) => memory::run(args, tools),
        What::Probe(args) => probe::run(args, tools),
        What::Any(args) => any::run(args, tools),
    }
}
