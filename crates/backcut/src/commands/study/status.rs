//! `backcut study status`: the plan against the files.

use std::time::Duration;

use anyhow::Result;
use backcut_study::slurm::{folder, queue};
use backcut_study::status::{UnitState, counts, states};
use backcut_study::summary::Summary;
use backcut_study::{Plan, Recorded, Store, Study, Tools, commit};
use serde_json::json;

use super::Target;
use super::slurm::{by_state, in_words};
use super::watch::TONES;
use crate::exit::{Told as _, Verdict};
use crate::say::{self, judged, outln};
use backcut_text::{counted, thousands};

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
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let (study, plan, store) = args.target.open(tools)?;
    let states = states(&plan, &store, Duration::from_mins(1)).told()?;
    let counts = counts(&states);
    if args.json {
        let map: serde_json::Map<String, serde_json::Value> = UnitState::ALL
            .iter()
            .zip(counts)
            .map(|(state, count)| (state.word().to_owned(), json!(count)))
            .collect();
        let mut value = json!({ "study": study.name, "units": plan.units.len(), "states": map });
        if folder(&store).exists() {
            value["slurm"] = match queue(&store, &study.name) {
                Err(why) => json!({ "note": why }),
                Ok(tasks) => json!({ "queue": by_state(&tasks) }),
            };
        }
        say::json(serde_json::to_string_pretty(&value)?)?;
        return Ok(Verdict::Fine);
    }
    outln!("{}: {}", study.name, counted(plan.units.len(), "unit"))?;
    for (state, count) in UnitState::ALL.iter().zip(counts) {
        if count > 0 {
            judged!(TONES, "  {:<12} {:>8}", state.word(), thousands(count))?;
        }
    }
    frozen(&study, &store)?;
    if folder(&store).exists() {
        in_queue(&study, &store)?;
    }
    failures(&study, &plan, &store, &states)?;
    if args.units {
        for (unit, state) in states.iter().enumerate().filter(|(_, s)| **s != UnitState::Done) {
            outln!(
                "{}  {:<11}  {}",
                plan.units[unit].id.short(),
                state.word(),
                plan.words(&study, unit as u32)
            )?;
        }
    }
    Ok(Verdict::Fine)
}

fn frozen(study: &Study, store: &Store) -> Result<()> {
    let ledger = commit::ledger(store).told()?;
    match ledger.latest_entry(&study.name) {
        Some(entry) if entry.frozen().is_some_and(|f| f.canonical == study.canonical) => {
            outln!("  frozen       {} in entry {}", entry.utc, entry.index)?;
        }
        Some(entry) => outln!("  frozen       {}, but the file has changed since", entry.utc)?,
        None => outln!("  not frozen")?,
    }
    Ok(())
}

/// The queue beside the files: it says what may still come, never what is done.
fn in_queue(study: &Study, store: &Store) -> Result<()> {
    match queue(store, &study.name) {
        Err(why) => outln!("  Slurm        no answer: {why}")?,
        Ok(tasks) if tasks.is_empty() => outln!("  Slurm        nothing in the queue")?,
        Ok(tasks) => {
            let (states, jobs) = in_words(&tasks);
            outln!("  Slurm        {states} (jobs {jobs})")?;
        }
    }
    Ok(())
}

/// What failed, and why.
fn failures(study: &Study, plan: &Plan, store: &Store, states: &[UnitState]) -> Result<()> {
    let failed: Vec<usize> =
        (0..states.len()).filter(|&u| states[u] == UnitState::Failed).collect();
    for &unit in failed.iter().take(20) {
        let summary = Summary::load(store, &plan.units[unit].id, Recorded::Failed).told()?;
        if let Some(what) = summary.outcome.failure {
            outln!("  failed: {}: {what}", plan.words(study, unit as u32))?;
        }
    }
    if failed.len() > 20 {
        outln!("  and {} more failures", failed.len() - 20)?;
    }
    Ok(())
}
