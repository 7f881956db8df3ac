//! `backcut measure chain`: does credit grow along the physical chain?

use std::fmt::Write as _;

use anyhow::Result;
use backcut_lab::measure::{ALL, ChainOptions, Rig, Subject, chain};
use backcut_study::Tools;

use super::figure::Lines;
use super::output::Results;
use super::states::StateArgs;
use super::table::{Look, Table, defined, wrapped};
use crate::exit::{Told as _, Verdict};
use crate::say::out;

/// Options of `backcut measure chain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    states: StateArgs,
    /// Batches whose trajectories are pooled: the next one and N - 1 fresh ones after it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    if args.states.define {
        out!("{}", defined("chain"))?;
        return Ok(Verdict::Fine);
    }
    let options = ChainOptions { windows: args.windows as usize };
    let states = args.states.restore(tools)?;
    let mut of_state = Vec::new();
    for restored in &states.all {
        let subject = Subject::of(&restored.restored);
        let mut rig = Rig::new(subject.system, &[]).told_at(&restored.label)?;
        of_state.push(chain(&mut rig, &subject, &options).told_at(&restored.label)?);
    }
    let results = Results::new(of_state);
    let look = Look(&results.summary);
    let mut text = wrapped(&states.introduction(), 2);
    text += "gain of k closed-loop steps, memory detached: q = |D A_{t-1} ... A_{t-k} D^-1|\n\n";
    text += &tables(look);
    results.publish("chain", &args.states, &states, &text, &[("chain", figure(look))])?;
    Ok(Verdict::Fine)
}

fn tables(look: Look) -> String {
    let parts = look.parts("chain.gain.median", "");
    let mut table = Table::new(["k", "median", "95%", "max"]);
    for (i, part) in parts.iter().enumerate() {
        // Powers of two and the last: the rest is in the CSV.
        if (i + 1).is_power_of_two() || i + 1 == parts.len() {
            let of = |name: &str| look.band(&format!("chain.gain.{name}"), "", part);
            table.row([part[2..].to_owned(), of("median"), of("p95"), of("max")]);
        }
    }
    let mut out = table.text();
    let _ = writeln!(out, "\ngrowth over depth: max_k q_{{t,k}} / q_{{t,1}} per trajectory");
    let mut table = Table::new(["t", "median", "95%", "max"]);
    for (part, name) in [("t=T", "the last"), (ALL, "the largest over t")] {
        let of = |name: &str| look.band(&format!("chain.growth.{name}"), "", part);
        table.row([name.to_owned(), of("median"), of("p95"), of("max")]);
    }
    out += &table.text();
    out + &look.reasons(&["chain.growth.median"])
}

fn figure(look: Look) -> String {
    let parts = look.parts("chain.gain.median", "");
    let of = |name: &str| {
        let quantity = format!("chain.gain.{name}");
        let values = parts.iter().map(|p| look.value(&quantity, "", p).unwrap_or(0.0));
        (name.to_owned(), values.collect())
    };
    Lines {
        title: "gain of the physical chain, memory detached".to_owned(),
        axis: "steps k".to_owned(),
        at: (1..=parts.len()).map(|k| k.to_string()).collect(),
        series: vec![of("median"), of("p95"), of("max")],
    }
    .svg()
}
