//! `backcut measure cost`: what one update under each cut takes in time and memory.
//!
//! Cuts are timed in turns, so that a busy neighbour slows all of them alike. The updates are
//! training's own, from the checkpoint on; what they learn is thrown away.

use std::time::Instant;

use anyhow::Result;
use backcut_engine::Cut;
use backcut_kernels::Isa;
use backcut_lab::measure::{ALL, Finding, Of, Subject, update_bytes};
use backcut_lab::training::{Arm, Trainer};
use backcut_stats::quantile::quantiles;
use backcut_study::Tools;

use super::output::Results;
use super::states::{Named, StateArgs, parse_cuts};
use super::table::{Column, Look, Row, sheet, wrapped};
use crate::exit::{Told as _, Verdict};
use crate::say::outln;
use backcut_text::thousands;

/// Updates in a row: the first finds what another cut left in the caches and is not counted.
const BURST: usize = 4;

/// Options of `backcut measure cost`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub states: StateArgs,
    /// Cuts to time, FF first
    #[arg(long, value_delimiter = ',', default_value = "FF,FD,F_SG")]
    cuts: Vec<String>,
    /// Interleaved rounds of three timed updates per cut
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Run this many updates under the first cut and print the code path: for a tool that counts
    /// instructions (docs/measuring.md)
    #[arg(long, value_name = "N")]
    only_updates: Option<u32>,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let mut cuts = parse_cuts(&args.cuts)?;
    let states = args.states.restore(tools)?;
    if let (Some(updates), Some(cut), Some(state)) =
        (args.only_updates, cuts.first(), states.all.first())
    {
        let mut trainer = trainer(state, *cut)?;
        counted_updates(&mut trainer, updates)?;
        outln!("{}", Isa::detect())?;
        return Ok(Verdict::Fine);
    }
    if !cuts.contains(&Cut::FF) {
        cuts.insert(0, Cut::FF);
    }
    let results = Results::new(states.each(|subject, state| {
        let mut findings = update_bytes(subject.system, &cuts).told_at(&state.label)?;
        findings.extend(times(state, &cuts, args.rounds)?);
        Ok(findings)
    })?);
    let mut text = wrapped(&states.introduction(), 2);
    let path = Isa::detect();
    text += &wrapped(
        &format!(
            "one update: sample, roll, backward, clip by the global norm, AdamW; code path {path}, \
             f32, one thread; monotonic clock, {} interleaved rounds of {} updates",
            args.rounds,
            BURST - 1
        ),
        2,
    );
    text += "\n";
    let look = Look(&results.summary);
    let rows = Row::of_cuts("", &look.cuts("cost.median-ms"));
    text += &sheet(look, "cut", &rows, &COSTS);
    results.publish("cost", &args.states, &states, &text, &[])?;
    Ok(Verdict::Fine)
}

/// The updates of a counted run. Callgrind finds this function by its name: it must stay one, and
/// hold no closure, whose name would match as well.
#[inline(never)]
fn counted_updates(trainer: &mut Trainer<f32>, updates: u32) -> Result<()> {
    for _ in 0..updates {
        step(trainer)?;
    }
    Ok(())
}

fn trainer(state: &Named, cut: Cut) -> Result<Trainer<'_, f32>> {
    let Subject { system, state, optimizer, key } = Subject::of(&state.restored);
    let arm = Arm { cut, seed: key.seed, stream: key.stream, optimizer: optimizer.clone() };
    Trainer::resume(system, arm, state.clone()).told()
}

fn step(trainer: &mut Trainer<f32>) -> Result<()> {
    trainer.step().told()?;
    Ok(())
}

fn times(restored: &Named, cuts: &[Cut], rounds: u32) -> Result<Vec<Finding>> {
    let mut trainers =
        cuts.iter().map(|cut| trainer(restored, *cut)).collect::<Result<Vec<_>>>()?;
    let mut of_cut = vec![Vec::new(); cuts.len()];
    for _ in 0..rounds {
        for (trainer, times) in trainers.iter_mut().zip(&mut of_cut) {
            step(trainer)?;
            for _ in 1..BURST {
                let start = Instant::now();
                step(trainer)?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    let mut findings = Vec::new();
    for (cut, times) in cuts.iter().zip(&mut of_cut) {
        let found = quantiles(times, &[0.0, 0.5]);
        findings.push(Finding::new("cost.median-ms", cut, ALL, found[1]));
        findings.push(Finding::new("cost.min-ms", cut, ALL, found[0]));
    }
    Ok(findings)
}

const COSTS: [Column; 7] = [
    Column::plain("median ms", "cost.median-ms"),
    Column::formed("x FF", "cost.median-ms", ratio),
    Column::plain("min ms", "cost.min-ms"),
    Column::formed("workspace B", "cost.workspace-bytes", whole),
    Column::formed("x FF", "cost.workspace-bytes", ratio),
    Column::formed("peak B", "cost.peak-bytes", whole),
    Column::formed("x FF", "cost.peak-bytes", ratio),
];

fn ratio(look: Look, quantity: &str, of: &Of, part: &str) -> String {
    let pair = look.value(quantity, of, part).zip(look.value(quantity, "FF", part));
    pair.map_or_else(|| "-".to_owned(), |(own, full)| format!("{:.3}", own / full))
}

fn whole(look: Look, quantity: &str, of: &Of, part: &str) -> String {
    let bytes = look.value(quantity, of, part);
    bytes.map_or_else(|| "-".to_owned(), |bytes| thousands(bytes.round() as usize))
}
