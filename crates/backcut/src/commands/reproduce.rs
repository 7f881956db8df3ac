//! `backcut reproduce`: run the built-in studies, judge them, and end in a page beside the paper.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::Result;
use backcut_paper::{Reproduction, studies};
use backcut_study::runner::RunOptions;
use backcut_study::{Plan, Store, Study, Tools, commit};

use super::report::reproduction;
use super::study::collect::collect;
use super::study::freeze::now;
use super::study::run::{run_study, stop_on_signals};
use super::study::{OUT, load};
use crate::common::{jobs, print_judged, write};
use crate::exit::{Told as _, Verdict, user};
use crate::look::{self, VERDICTS};
use crate::say::{note, outln};

/// Options of `backcut reproduce`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a name: a quick but real look at both systems (four sources, two to three
minutes on two cores). --full trains the from-initialization study with the paper's
own budget, --all every quadrotor experiment. Finished units are never computed
again; stop with Ctrl-C and repeat the command to go on.")]
pub struct Args {
    /// Built-in studies, as c5 or a4
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The quick look (the default)
    #[arg(long, conflicts_with_all = ["full", "all", "names"])]
    quick: bool,
    /// The from-initialization study with the paper's budget: 16 sources, 5 conditions, 5 arms
    #[arg(long, conflicts_with_all = ["all", "names"])]
    full: bool,
    /// Every quadrotor experiment
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Results folder
    #[arg(long, value_name = "DIR", default_value = OUT)]
    out: PathBuf,
    /// Units at a time [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// The quick look: the quadrotor from initialization, the vessel's gradients and learning.
const QUICK: [&str; 4] = ["quick", "flight-quick", "b1-quick", "b3-quick"];

impl Args {
    fn studies(&self) -> Vec<String> {
        if self.all {
            return studies::quadrotor().map(str::to_owned).collect();
        }
        match (self.full, self.names.is_empty()) {
            (true, _) => vec!["c5".to_owned()],
            (false, true) => QUICK.map(str::to_owned).into(),
            (false, false) => self.names.clone(),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let store = Store::new(&args.out);
    let stop = stop_on_signals()?;
    let options = RunOptions { jobs: jobs(args.jobs)?, ..RunOptions::default() };
    let names = args.studies();
    let mut has_failures = false;
    for name in &names {
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
    let results: Reproduction = reproduction(&args.out.join("tables"))?;
    for name in &names {
        outln!()?;
        print_judged(results.summary(name, look::columns()).told_after("failed to ")?, VERDICTS)?;
    }
    if names == QUICK {
        outln!()?;
        outln!(
            "Four sources are a look, not a test: the exact test cannot go below 0.125, so every row is descriptive. The paper's own budget: backcut reproduce --full"
        )?;
    }
    let html = results.page(None).told_after("failed to ")?;
    let path = args.out.join("report.html");
    write(&path, html)?;
    outln!("\npage: {}", path.display())?;
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
