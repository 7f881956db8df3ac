//! `backcut measure chain`: does credit grow along the physical chain?

use std::fmt::Write as _;

use anyhow::Result;
use backcut_lab::measure::{ALL, ChainOptions, Of, chain};
use backcut_study::Tools;

use super::figure::Lines;
use super::output::Results;
use super::states::StateArgs;
use super::table::{Column, Look, Row, sheet, wrapped};
use crate::exit::{Told as _, Verdict};

/// Options of `backcut measure chain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub states: StateArgs,
    /// Batches whose trajectories are pooled: the next one and N - 1 fresh ones after it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let options = ChainOptions { windows: args.windows as usize };
    let states = args.states.restore(tools)?;
    let results = Results::new(states.each_rig(&[], false, |rig, subject, state| {
        chain(rig, subject, &options).told_at(&state.label)
    })?);
    let look = Look(&results.summary);
    let mut text = wrapped(&states.introduction(), 2);
    text += "gain of k closed-loop steps, memory detached: q = |D A_{t-1} ... A_{t-k} D^-1|\n\n";
    text += &tables(look);
    results.publish("chain", &args.states, &states, &text, &[("chain", figure(look))])?;
    Ok(Verdict::Fine)
}

fn tables(look: Look) -> String {
    let parts = look.parts("chain.gain.median", "");
    let columns =
        [Column::new("median", ".median"), Column::new("95%", ".p95"), Column::new("max", ".max")];
    // Powers of two and the last: the rest is in the CSV.
    let is_shown = |i: &usize| (i + 1).is_power_of_two() || i + 1 == parts.len();
    let row = |i: usize| Row::new(&parts[i][2..], "chain.gain", Of::Nothing, parts[i]);
    let rows: Vec<Row> = (0..parts.len()).filter(is_shown).map(row).collect();
    let mut out = sheet(look, "k", &rows, &columns);
    let _ = writeln!(out, "\ngrowth over depth: max_k q_{{t,k}} / q_{{t,1}} per trajectory");
    let rows = [("t=T", "the last"), (ALL, "the largest over t")]
        .map(|(part, name)| Row::new(name, "chain.growth", Of::Nothing, part));
    out += &sheet(look, "t", &rows, &columns);
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
