//! `backcut measure cost`: what one update under each cut takes in time, memory and instructions.
//!
//! Cuts are timed in turns, so that a busy neighbour slows all of them alike. The updates are training's
//! own, from the checkpoint on; what they learn is thrown away.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use backcut_engine::Cut;
use backcut_kernels::Isa;
use backcut_measure::{ALL, Finding, update_bytes};
use backcut_stats::quantile::quantiles;
use backcut_training::{Arm, Trainer};

use super::output::Results;
use super::states::{Restored, StateArgs, States, at, parse_cuts};
use super::table::{Look, Table, defined, number, wrapped};
use crate::exit::Verdict;
use crate::quadrotor::{thousands, user};

/// Updates in a row: the first finds what another cut left in the caches and is not counted.
const BURST: usize = 4;
/// Updates of the two counted runs; their difference leaves loading and allocating out.
const COUNTED: [u32; 2] = [5, 25];

/// Options of `backcut measure cost`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    states: StateArgs,
    /// Cuts to time, FF first
    #[arg(long, value_delimiter = ',', default_value = "FF,FD,F_SG")]
    cuts: Vec<String>,
    /// Interleaved rounds of three timed updates per cut
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Run this many updates under the first cut and print nothing: what `perf stat` counts
    #[arg(long, value_name = "N", hide = true)]
    only_updates: Option<u32>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    if args.states.define {
        print!("{}", defined("cost"));
        return Ok(Verdict::Fine);
    }
    let mut cuts = parse_cuts(&args.cuts)?;
    let states = args.states.restore()?;
    if let (Some(updates), Some(cut), Some(state)) =
        (args.only_updates, cuts.first(), states.all.first())
    {
        let mut trainer = trainer(&states, state, *cut)?;
        (0..updates).try_for_each(|_| step(&mut trainer))?;
        return Ok(Verdict::Fine);
    }
    if !cuts.contains(&Cut::FF) {
        cuts.insert(0, Cut::FF);
    }
    let mut of_state = Vec::new();
    let mut counting = String::new();
    for restored in &states.all {
        let system = states.system(restored);
        let mut findings = update_bytes::<f32>(system, &cuts).map_err(at(&restored.label))?;
        findings.extend(times(&states, restored, &cuts, args.rounds)?);
        let mut counts = cuts.iter().map(|cut| instructions(&restored.path, *cut));
        match counts.by_ref().collect::<Result<Result<Vec<f64>, String>>>()? {
            Ok(counts) => {
                "instructions: perf stat, user mode".clone_into(&mut counting);
                let count = cuts.iter().zip(counts);
                findings.extend(count.map(|(c, n)| Finding::new("cost.instructions", c, ALL, n)));
            }
            Err(why) => {
                counting = format!("instructions: not available ({why})");
                let none = |c: &Cut| {
                    Finding::undefined("cost.instructions", c, ALL, &format!("perf stat: {why}"))
                };
                findings.extend(cuts.iter().map(none));
            }
        }
        of_state.push(findings);
    }
    let results = Results::new(of_state);
    let mut text = wrapped(&states.introduction(), 2);
    let isa = Isa::detect();
    text += &wrapped(
        &format!(
            "one update: sample, roll, backward, clip by the global norm, AdamW; code path {isa}, f32, \
             one thread; monotonic clock, {} interleaved rounds of {} updates; {counting}",
            args.rounds,
            BURST - 1
        ),
        2,
    );
    text += "\n";
    text += &table(Look(&results.summary), &cuts);
    results.publish("cost", &args.states, &states, &text, &[])?;
    Ok(Verdict::Fine)
}

fn trainer<'s>(states: &'s States, restored: &Restored, cut: Cut) -> Result<Trainer<'s, f32>> {
    let config = &restored.header.config;
    let stream = restored.header.stream;
    let arm = Arm { cut, seed: config.seed, stream, optimizer: config.optimizer };
    Trainer::resume(states.system(restored), arm, restored.state.clone())
        .map_err(|e| user(&e, e.hint()))
}

fn step(trainer: &mut Trainer<f32>) -> Result<()> {
    trainer.step().map_err(|e| user(&e, e.hint()))?;
    Ok(())
}

fn times(states: &States, restored: &Restored, cuts: &[Cut], rounds: u32) -> Result<Vec<Finding>> {
    let mut trainers =
        cuts.iter().map(|cut| trainer(states, restored, *cut)).collect::<Result<Vec<_>>>()?;
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

/// Instructions of one update, or why they cannot be counted here.
fn instructions(checkpoint: &Path, cut: Cut) -> Result<Result<f64, String>> {
    let own = std::env::current_exe().context("failed to find this program")?;
    let mut counts = [0.0; 2];
    for (count, updates) in counts.iter_mut().zip(COUNTED) {
        let output = Command::new("perf")
            .args(["stat", "-x", ",", "-e", "instructions:u", "--"])
            .arg(&own)
            .args(["measure", "cost", "--checkpoint"])
            .arg(checkpoint)
            .args(["--cuts", &cut.to_string(), "--only-updates", &updates.to_string()])
            .output();
        let Ok(output) = output else { return Ok(Err("perf is not installed".to_owned())) };
        match parse_count(&String::from_utf8_lossy(&output.stderr)) {
            Ok(found) if output.status.success() => *count = found,
            Ok(_) => return Ok(Err("the counted run failed".to_owned())),
            Err(why) => return Ok(Err(why)),
        }
    }
    let [few, many] = counts;
    Ok(Ok((many - few) / f64::from(COUNTED[1] - COUNTED[0])))
}

/// The count in the output of `perf stat -x ,`, or what stands in its place.
fn parse_count(text: &str) -> Result<f64, String> {
    let line = text.lines().find(|line| line.contains("instructions"));
    let Some(line) = line else { return Err("perf counted nothing".to_owned()) };
    let first = line.split(',').next().unwrap_or_default();
    let reason = first.trim_matches(|c| c == '<' || c == '>');
    first.parse().map_err(|_| format!("the processor's counter is {reason}"))
}

fn table(look: Look, cuts: &[Cut]) -> String {
    let head =
        ["cut", "median ms", "x FF", "min ms", "workspace B", "x FF", "peak B", "x FF", "instr."];
    let mut table = Table::new(head);
    for cut in cuts.iter().map(ToString::to_string) {
        let value = |quantity: &str, cut: &str| look.value(quantity, cut, ALL);
        let ratio = |quantity: &str| {
            let pair = value(quantity, &cut).zip(value(quantity, "FF"));
            pair.map_or_else(|| "-".to_owned(), |(a, b)| format!("{:.3}", a / b))
        };
        let bytes = |quantity: &str| {
            value(quantity, &cut).map_or_else(|| "-".to_owned(), |b| thousands(b as usize))
        };
        table.row([
            cut.clone(),
            value("cost.median-ms", &cut).map_or_else(|| "-".to_owned(), number),
            ratio("cost.median-ms"),
            value("cost.min-ms", &cut).map_or_else(|| "-".to_owned(), number),
            bytes("cost.workspace-bytes"),
            ratio("cost.workspace-bytes"),
            bytes("cost.peak-bytes"),
            ratio("cost.peak-bytes"),
            value("cost.instructions", &cut).map_or_else(|| "-".to_owned(), number),
        ]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_perf_prints() {
        let fine = "123456789,,instructions:u,50000000,100.00,1.2,insn per cycle\n";
        assert_eq!(parse_count(fine), Ok(123_456_789.0));
        let virtual_machine = "<not supported>,,instructions:u,0,100.00,,\n";
        assert_eq!(
            parse_count(virtual_machine),
            Err("the processor's counter is not supported".to_owned())
        );
        assert!(parse_count("perf: permission denied\n").is_err());
    }
}
