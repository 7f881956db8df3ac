//! `backcut bench`: how fast this machine is, and how fast the engine is on it.
//!
//! Four questions: the matrix product against the peak of a register-only loop, one training update
//! of a system under each cut, the cost of longer rollouts, and two units on two threads. What is
//! compared is measured in turns (*interleaved*), so that a busy neighbour slows all of it, and
//! times are medians. At the end stands what passed and what missed its goal, and how large the
//! noise was; the exit code does not depend on it, because a shared machine must not fail a check.

mod goals;
mod learner;
mod products;
mod scaling;
mod system;

use std::fmt::Write as _;
use std::time::Instant;

use backcut_kernels::Isa;
use backcut_study::Tools;
use backcut_systems::SystemChoice;
use serde::Serialize;
use serde_json::Map;

use super::export::named;
use crate::common::{described, print_json, print_judged};
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

/// What is printed as JSON: what was measured, and how it stands.
#[derive(Serialize)]
struct Report<'m> {
    #[serde(flatten)]
    measured: &'m Measured,
    goals: Vec<goals::Goal>,
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
    let updates = system::measure(tools, &built, rounds)?;
    note!("measuring longer rollouts ...");
    let steps = scaling::over_steps(rounds / 3)?;
    note!("measuring two threads ...");
    let threads = scaling::over_threads(&built, rounds / 3)?;
    let code_path = isa.to_string();
    let measured = Measured { code_path, rounds, products, updates, steps, threads };
    let goals = goals::of(&measured);
    if args.json {
        return print_json(&Report { measured: &measured, goals });
    }
    let text = format!("{}\n{}", measured.text(), goals::text(&goals, measured.updates.noise));
    print_judged(text, goals::TONES)
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
            "\ntwo units of {} updates, one after the other and on two threads\n  \
             {one_thread_ms:.1} ms and {two_threads_ms:.1} ms: {speedup:.2}x",
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
