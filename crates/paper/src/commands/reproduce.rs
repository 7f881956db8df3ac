//! `backcut reproduce`: run the built-in studies, judge them, and end in a page beside the paper.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::publication::beside;
use crate::studies;
use anyhow::Result;
use backcut::command::{
    OUT, Told as _, Tools, VERDICTS, Verdict, columns, complete, print_judged, write,
};
use backcut::say::outln;

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
    let names = args.studies();
    let verdict = complete(&names, &args.out, args.jobs, tools)?;
    if verdict == Verdict::Interrupted {
        return Ok(verdict);
    }
    let results = beside(&args.out.join("tables"))?;
    for name in &names {
        outln!()?;
        print_judged(results.summary(name, columns()).told_after("failed to ")?, VERDICTS)?;
    }
    if names == QUICK {
        outln!()?;
        outln!(
            "Four sources are a look, not a test: the exact test cannot go below 0.125, so every \
             row is descriptive. The paper's own budget: backcut reproduce --full"
        )?;
    }
    let html = results.page(None).told_after("failed to ")?;
    let path = args.out.join("report.html");
    write(&path, html)?;
    outln!("\npage: {}", path.display())?;
    Ok(verdict)
}
