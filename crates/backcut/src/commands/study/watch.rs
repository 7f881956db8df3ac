//! `backcut study watch`: a study as it runs, in the terminal, from its files alone.
//!
//! The folder may be filled by another process, another host or a scheduler: nothing is asked but
//! files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use backcut_study::collect::Results;
use backcut_study::status::{UnitState, counts, states_of};
use backcut_study::{Plan, Store, Study, Tools, UnitId, commit, note};

use super::{OUT, Target, load};
use crate::exit::{Told as _, Verdict, user};
use crate::look::{Tone, Tones, columns};
use crate::progress::{drawn, timing};
use crate::say::{self, judged};
use backcut_text::{escape, thousands};

/// Bars of a curve, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// How long a claim may be silent before its unit counts as interrupted.
const STALE_AFTER: Duration = Duration::from_mins(1);
/// States that somebody should look at.
pub const TONES: Tones = &[
    ("failed", Tone::Bad),
    ("blocked", Tone::Bad),
    ("interrupted", Tone::Open),
    ("running", Tone::Good),
];

/// Options of `backcut study watch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Study file, the name of a built-in study, or a results folder: all of its studies
    #[arg(value_name = "FILE|DIR")]
    target: PathBuf,
    /// Results folder of a study
    #[arg(long, value_name = "DIR", default_value = OUT)]
    out: PathBuf,
    /// Seconds between looks
    #[arg(long, default_value_t = 2.0)]
    every: f64,
    /// Look once and end
    #[arg(long)]
    once: bool,
}

/// Runs the command: until everything has an outcome, or Ctrl-C.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    if args.target.is_dir() {
        let store = Store::new(&args.target);
        return repeat(args, || folder(&store, tools));
    }
    let target = Target { file: args.target.clone(), out: args.out.clone() };
    let (study, plan, store) = target.open_existing(tools)?;
    repeat(args, || {
        let results = Results::read(&study, &plan, &store).told()?;
        Ok((view(&results), counts(&results.states)))
    })
}

/// Looks again and again, until every unit has an outcome.
fn repeat(args: &Args, look: impl Fn() -> Result<(String, [usize; 6])>) -> Result<Verdict> {
    let pause = Duration::try_from_secs_f64(args.every.max(0.2)).unwrap_or(Duration::from_secs(2));
    let is_screen = std::io::stdout().is_terminal() && !args.once;
    let mut first: Option<(Instant, usize)> = None;
    loop {
        let (text, states) = look()?;
        let [done, _, _, failed, blocked, _] = states;
        let (began, before) = *first.get_or_insert_with(|| (Instant::now(), done));
        let left = states.iter().sum::<usize>() - done - failed - blocked;
        // Files have no rate: what is left is told from what was seen to finish.
        let watched = match done.saturating_sub(before) {
            0 => String::new(),
            seen => {
                let timing = timing(began.elapsed(), seen as u64, left as u64);
                format!("\nwatching: {seen} finished, {timing}")
            }
        };
        say::raw(if is_screen { "\x1b[H\x1b[2J" } else { "" })?;
        judged!(TONES, "{}{watched}", text.trim_end())?;
        say::flush()?;
        if args.once || done + failed + blocked == states.iter().sum::<usize>() {
            return Ok(if failed > 0 { Verdict::Failed } else { Verdict::Fine });
        }
        std::thread::sleep(pause);
    }
}

/// All studies of a folder, in a line each; in full those that run, if their file is built in.
fn folder(store: &Store, tools: Tools) -> Result<(String, [usize; 6])> {
    let known = note::known(store).told()?;
    if known.is_empty() {
        let error = format!("{}: no study ran in this folder", store.root().display());
        return Err(user(error, "name a folder that `backcut study run --out DIR` fills"));
    }
    let (mut text, mut in_full) = (String::new(), String::new());
    let mut all = [0; 6];
    let is_only = known.len() == 1; // then its line would say twice what its view says
    for (name, units) in known {
        let states = states_of(&units, store, STALE_AFTER).told()?;
        let states = counts(&states);
        all.iter_mut().zip(states).for_each(|(all, n)| *all += n);
        let found = if states[1] > 0 { builtin_of(&name, &units, store, tools) } else { None };
        if !is_only || found.is_none() {
            let _ = writeln!(text, "{name:<14} {}{}", bar(states), others(states, ", "));
        }
        if states[1] > 0 {
            match found {
                Some((study, plan)) => {
                    let results = Results::read(&study, &plan, store).told()?;
                    let _ = write!(in_full, "\n{}", view(&results));
                }
                None => {
                    let _ = writeln!(
                        in_full,
                        "\n{name}: for its curves, backcut study watch FILE --out {}",
                        store.root().display()
                    );
                }
            }
        }
    }
    Ok((text + &in_full, all))
}

/// The built-in study of that name, if these are its units.
fn builtin_of(name: &str, units: &[UnitId], store: &Store, tools: Tools) -> Option<(Study, Plan)> {
    let study = load(Path::new(name), tools.catalogue).ok()?;
    let (study, plan) = commit::in_folder(study, store).ok()?;
    plan.units.iter().map(|unit| &unit.id).eq(units).then_some((study, plan))
}

/// Units done, drawn and counted.
fn bar(states: [usize; 6]) -> String {
    let total: usize = states.iter().sum();
    format!("{} {} of {} units", drawn(states[0], total), thousands(states[0]), thousands(total))
}

/// What is not done, in words, after `before`; nothing if everything is.
fn others(states: [usize; 6], before: &str) -> String {
    let others = UnitState::ALL.iter().zip(states).skip(1).filter(|(_, count)| *count > 0);
    let others: Vec<String> = others.map(|(s, n)| format!("{n} {}", s.word())).collect();
    if others.is_empty() { String::new() } else { format!("{before}{}", others.join(", ")) }
}

/// One look.
fn view(results: &Results) -> String {
    let states = counts(&results.states);
    let mut text = format!("{}: {}\n", results.study.name, escape::plain(&results.study.title));
    let _ = writeln!(text, "{}{}", bar(states), others(states, "\n"));
    text.push('\n');
    curves(results, &mut text);
    failures(results, &mut text);
    text
}

/// The mean error over finished sources, by arm and condition.
fn curves(results: &Results, text: &mut String) {
    let mut cells: BTreeMap<(u32, u32), BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    for place in results.plan.places.iter().filter(|p| p.measured.is_none()) {
        if let Some(summary) = &results.summaries[place.unit as usize] {
            for known in &summary.outcome.evaluations {
                let cell = cells.entry((place.arm, place.condition)).or_default();
                cell.entry(known.update).or_default().push(known.mean);
            }
        }
    }
    if !cells.is_empty() {
        let _ = writeln!(
            text,
            "{:<12} {:<16} {:>7}  {:<10} mean error",
            "arm", "condition", "sources", "curve"
        );
    }
    for ((arm, condition), points) in cells {
        let arm = &results.study.arms[arm as usize];
        let (label, _) = &results.study.grids[arm.grid].conditions[condition as usize];
        let means: Vec<f64> =
            points.values().map(|v| v.iter().sum::<f64>() / v.len() as f64).collect();
        let sources = points.values().last().map_or(0, Vec::len);
        let last = means.last().copied().unwrap_or_default();
        let line =
            format!("{:<12} {label:<16} {sources:>7}  {:<10} {last:.6}", arm.name, spark(&means));
        let _ = writeln!(text, "{}", line.chars().take(columns()).collect::<String>());
    }
}

/// A curve in one line.
fn spark(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let level =
        |v: &f64| if high > low { (7.0 * (v - low) / (high - low)).round() as usize } else { 0 };
    values.iter().map(|v| BARS[level(v).min(7)]).collect()
}

fn failures(results: &Results, text: &mut String) {
    let failed = results.states.iter().enumerate().filter(|(_, s)| **s == UnitState::Failed);
    for (unit, _) in failed.take(5) {
        let words = results.plan.words(results.study, unit as u32);
        let summary = results.summaries[unit].as_ref();
        if let Some(what) = summary.and_then(|summary| summary.outcome.failure.as_ref()) {
            let _ = writeln!(text, "\nfailed: {words}\n  {what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_falls_from_its_highest_bar_to_its_lowest() {
        assert_eq!(spark(&[3.0, 2.0, 1.0]), "█▅▁");
        assert_eq!(spark(&[1.0, 1.0]), "▁▁");
        assert_eq!(spark(&[]), "");
    }
}
