//! `backcut bench`: how fast this machine is, and how fast the engine is on it.
//!
//! Four questions: the matrix product against the peak of a register-only loop, one training update of
//! a system under each cut, the cost of longer rollouts, and two units on two threads. What is
//! compared is measured in turns (*interleaved*), so that a busy neighbour slows all of it, and times
//! are medians. Nothing here is asserted: a shared machine must not fail a check.

mod learner;
mod products;
mod scaling;
mod system;

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::Context as _;
use backcut_kernels::Isa;
use backcut_study::Tools;
use backcut_systems::SystemChoice;
use serde::Serialize;
use serde_json::Map;

use super::export::named;
use crate::common::{described, print};
use crate::exit::Verdict;
use crate::say::note;
use crate::settings::SettingArgs;

/// Measure products, training updates, long rollouts and threads on this machine.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// A tenth of the rounds: a first impression in a few seconds
    #[arg(long)]
    quick: bool,
    /// The system whose updates are measured [default: the catalogue's first]
    #[arg(long)]
    system: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
}

#[derive(Serialize)]
struct Measured {
    code_path: String,
    rounds: usize,
    #[serde(flatten)]
    products: products::Products,
    updates: system::Timings,
    steps: Vec<scaling::OfSteps>,
    threads: scaling::Threads,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> anyhow::Result<Verdict> {
    let isa = Isa::detect();
    let rounds = if args.quick { 6 } else { 60 };
    note!("measuring products ...");
    let products = products::measure(isa, if args.quick { 20 } else { 200 });
    let choice = SystemChoice::new(&named(args.system.as_deref(), tools)?, Map::new());
    let built = args.settings.over(&choice, tools.catalogue)?;
    note!("measuring updates of {} ...", described(&built));
    let updates = system::measure(isa, tools, &built, rounds)?;
    note!("measuring longer rollouts ...");
    let steps = scaling::over_steps(isa, rounds / 3)?;
    note!("measuring two threads ...");
    let threads = scaling::over_threads(tools.executor, &built, rounds / 3)?;
    let code_path = isa.to_string();
    let measured = Measured { code_path, rounds, products, updates, steps, threads };
    let output = if args.json {
        serde_json::to_string_pretty(&measured).context("failed to write JSON")? + "\n"
    } else {
        measured.text()
    };
    print(output)
}

impl Measured {
    fn text(&self) -> String {
        let mut out = format!(
            "code path {}, f32, one thread unless said otherwise\n\
             times are medians of {} interleaved rounds\n\n",
            self.code_path, self.rounds
        );
        out.push_str(&self.products.text());
        out.push('\n');
        out.push_str(&self.updates.text());
        out.push('\n');
        out.push_str(&scaling::text(&self.steps));
        let scaling::Threads { one_thread_ms, two_threads_ms, speedup } = self.threads;
        let _ = writeln!(
            out,
            "\ntwo units of {} updates: {one_thread_ms:.1} ms on one thread, {two_threads_ms:.1} ms \
             on two: {speedup:.2}x",
            scaling::UPDATES
        );
        out
    }
}

/// Wall-clock milliseconds of one call.
fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// The median; the mean of the middle two if there are two.
fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}
