//! Studies from the freeze to the tables, one after the other.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::Result;
use backcut_study::runner::RunOptions;
use backcut_study::{Plan, Store, Study, Tools, commit};

use super::collect::collect;
use super::freeze::now;
use super::load;
use super::run::{run_study, stop_on_signals};
use crate::common::jobs;
use crate::exit::{Told as _, Verdict, user};
use crate::say::note;

/// Freezes built-in studies that never were, computes what is missing and collects them.
pub fn complete(
    names: &[String],
    out: &Path,
    at_a_time: Option<NonZeroUsize>,
    tools: Tools,
) -> Result<Verdict> {
    let store = Store::new(out);
    let stop = stop_on_signals()?;
    let options = RunOptions { jobs: jobs(at_a_time)?, ..RunOptions::default() };
    let mut has_failures = false;
    for name in names {
        if Path::new(name).components().count() != 1 || Path::new(name).extension().is_some() {
            let what = format!("{name} is no built-in study");
            return Err(user(what, "for a file of your own: backcut study run FILE"));
        }
        let study = load(Path::new(name), tools.catalogue).told()?;
        freeze_once(&study, &store)?;
        let (study, plan) = commit::in_folder(study, &store).told()?;
        commit::admit(&study, &plan, &store).told()?;
        let tally = run_study(&study, &plan, &store, tools, &options, &stop)?;
        if stop.load(Ordering::Relaxed) && tally.left > 0 {
            note!("stopped; the same command goes on where it stopped");
            return Ok(Verdict::Interrupted);
        }
        has_failures |= tally.failed + tally.blocked > 0;
        collect(&study, &plan, &store, &store.tables(&study.name), &[], false)?;
    }
    Ok(if has_failures { Verdict::Failed } else { Verdict::Fine })
}

/// The predictions of a built-in study go into the ledger before its first unit runs.
fn freeze_once(study: &Study, store: &Store) -> Result<()> {
    let ledger = commit::ledger(store).told()?;
    if ledger.latest_entry(&study.name).is_none() {
        let head = commit::freeze(study, &Plan::new(study), store, now()).told()?;
        note!("{}: predictions frozen, ledger head {}", study.name, head.short());
    }
    Ok(())
}
