//! `backcut study freeze` and `amend`: predictions into the ledger.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use backcut_files::Utc;
use backcut_study::{Tools, commit};

use super::Target;
use crate::exit::{Told as _, Verdict};
use crate::say::outln;
use backcut_text::counted;

/// Options of `backcut study freeze`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

/// Options of `backcut study amend`.
#[derive(Debug, clap::Args)]
pub struct AmendArgs {
    #[command(flatten)]
    target: Target,
    /// Why, in a sentence; it stays in the ledger
    #[arg(long)]
    reason: String,
}

/// The time as the ledger writes it.
pub fn now() -> Utc {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    Utc::from_unix(seconds).unwrap_or_else(|| Utc::from_unix(0).expect("the epoch is a time"))
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let (study, plan, store) = args.target.open(tools)?;
    let head = commit::freeze(&study, &plan, &store, now()).told()?;
    outln!("frozen: study {} ({})", study.name, counted(plan.units.len(), "unit"))?;
    for family in &study.families {
        outln!(
            "  {}: {}, asks to be {}",
            family.table.name,
            counted(family.params.contrasts.len(), "contrast"),
            family.asks
        )?;
    }
    outln!("head    {head}")?;
    Ok(Verdict::Fine)
}

/// Runs `backcut study amend`.
pub fn amend(args: &AmendArgs, tools: Tools) -> Result<Verdict> {
    let (study, plan, store) = args.target.open(tools)?;
    let head = commit::amend(&study, &plan, &store, now(), &args.reason).told()?;
    outln!("amended: study {}\nhead    {head}", study.name)?;
    Ok(Verdict::Fine)
}
