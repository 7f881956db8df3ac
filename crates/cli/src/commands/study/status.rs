//! `backcut study status`: the plan against the files.

use std::time::Duration;

use anyhow::Result;
use backcut_study::status::{UnitState, counts, states};
use backcut_study::summary::{Short, Summary};
use backcut_study::{Plan, Recorded, Store, Study, commit};
use serde_json::json;

use super::{Target, user};
use crate::exit::Verdict;
use crate::quadrotor::thousands;

/// Options of `backcut study status`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// List every unit that is not done
    #[arg(long)]
    units: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let (study, plan, store) = args.target.open()?;
    let states = states(&plan, &store, Duration::from_mins(1)).map_err(user)?;
    let counts = counts(&states);
    if args.json {
        let map: serde_json::Map<String, serde_json::Value> = UnitState::ALL
            .iter()
            .zip(counts)
            .map(|(state, count)| (state.word().to_owned(), json!(count)))
            .collect();
        let value = json!({ "study": study.name, "units": plan.units.len(), "states": map });
        println!("{}", serde_json::to_string_pretty(&value)?);
        return Ok(Verdict::Fine);
    }
    println!("{}: {} units", study.name, thousands(plan.units.len()));
    for (state, count) in UnitState::ALL.iter().zip(counts) {
        if count > 0 {
            println!("  {:<12} {:>8}", state.word(), thousands(count));
        }
    }
    frozen(&study, &store)?;
    failures(&study, &plan, &store, &states)?;
    if args.units {
        for (unit, state) in states.iter().enumerate().filter(|(_, s)| **s != UnitState::Done) {
            println!(
                "{}  {:<11}  {}",
                plan.units[unit].id.short(),
                state.word(),
                plan.words(&study, unit as u32)
            );
        }
    }
    Ok(Verdict::Fine)
}

fn frozen(study: &Study, store: &Store) -> Result<()> {
    let ledger = commit::ledger(store).map_err(user)?;
    match ledger.latest_entry(&study.name) {
        Some(entry) if entry.frozen().is_some_and(|f| f.canonical == study.canonical) => {
            println!("  frozen       {} in entry {}", entry.utc, entry.index);
        }
        Some(entry) => println!("  frozen       {}, but the file has changed since", entry.utc),
        None => println!("  not frozen"),
    }
    Ok(())
}

/// What failed, and why.
fn failures(study: &Study, plan: &Plan, store: &Store, states: &[UnitState]) -> Result<()> {
    let failed: Vec<usize> =
        (0..states.len()).filter(|&u| states[u] == UnitState::Failed).collect();
    for &unit in failed.iter().take(20) {
        let summary = Summary::load(store, &plan.units[unit].id, Recorded::Failed).map_err(user)?;
        if let Short::Failed { what } = summary.outcome {
            println!("  failed: {}: {what}", plan.words(study, unit as u32));
        }
    }
    if failed.len() > 20 {
        println!("  and {} more failures", failed.len() - 20);
    }
    Ok(())
}
