//! `backcut study status`: the plan against the files.

use std::time::Duration;

use anyhow::Result;
use backcut_study::slurm::{Queue, SubmissionFolder, ask};
use backcut_study::status::{UnitState, counts, states};
use backcut_study::summary::{OutcomeSummary, Summary};
use backcut_study::{Plan, Recorded, Store, Study, Tools, commit};
use serde_json::json;

use super::Target;
use super::slurm::tasks;
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
        if let Some((_, queue)) = in_queue(&study, &store)? {
            value["slurm"] = match &queue {
                Queue::Silent(why) => json!({ "note": why }),
                Queue::Tasks(_) => json!({ "queue": queue.states() }),
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
    queue(&study, &store)?;
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

/// The jobs that were submitted, if any were, and what of them is in the queue.
fn in_queue(study: &Study, store: &Store) -> Result<Option<(Vec<u64>, Queue)>> {
    let Some(jobs) = SubmissionFolder::new(store, &study.name).jobs().told()? else {
        return Ok(None);
    };
    let jobs: Vec<u64> = jobs.iter().map(|job| job.job).collect();
    let queue = ask(&jobs);
    Ok(Some((jobs, queue)))
}

/// The queue beside the files: it says what may still come, never what is done.
fn queue(study: &Study, store: &Store) -> Result<()> {
    let Some((jobs, queue)) = in_queue(study, store)? else { return Ok(()) };
    match &queue {
        Queue::Silent(why) => outln!("  Slurm        no answer: {why}")?,
        Queue::Tasks(found) if found.is_empty() => {
            outln!("  Slurm        nothing in the queue, of {} jobs submitted", jobs.len())?;
        }
        queue @ Queue::Tasks(_) => {
            let ids: Vec<String> = queue.jobs().iter().map(u64::to_string).collect();
            outln!("  Slurm        {} (jobs {})", tasks(queue), ids.join(" "))?;
            let mut reasons: Vec<&str> =
                queue.tasks().iter().filter_map(|task| task.reason.as_deref()).collect();
            reasons.sort_unstable();
            reasons.dedup();
            if !reasons.is_empty() {
                outln!("               waiting for: {}", reasons.join(", "))?;
            }
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
        if let OutcomeSummary::Failed { what } = summary.outcome {
            outln!("  failed: {}: {what}", plan.words(study, unit as u32))?;
        }
    }
    if failed.len() > 20 {
        outln!("  and {} more failures", failed.len() - 20)?;
    }
    Ok(())
}
