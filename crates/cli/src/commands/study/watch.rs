//! `backcut study watch`: a study as it runs, in the terminal, from its files alone.
//!
//! The folder may be filled by another process, another host or a scheduler: nothing is asked but files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use anyhow::Result;
use backcut_study::collect::Results;
use backcut_study::status::{UnitState, counts};
use backcut_study::summary::{Short, Summary};

use super::{Target, user};
use crate::exit::Verdict;
use crate::quadrotor::thousands;

/// Bars of a curve, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Width of the screen that is written for.
const COLUMNS: usize = 80;

/// Options of `backcut study watch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Seconds between looks
    #[arg(long, default_value_t = 2.0)]
    every: f64,
    /// Look once and end
    #[arg(long)]
    once: bool,
}

/// Runs the command: until everything has an outcome, or Ctrl-C.
pub fn run(args: &Args) -> Result<Verdict> {
    let (study, plan, store) = args.target.open()?;
    let pause = Duration::try_from_secs_f64(args.every.max(0.2)).unwrap_or(Duration::from_secs(2));
    let is_screen = std::io::stdout().is_terminal() && !args.once;
    loop {
        let results = Results::read(&study, &plan, &store).map_err(user)?;
        let text = view(&results);
        let mut out = std::io::stdout().lock();
        let clear = if is_screen { "\x1b[H\x1b[2J" } else { "" };
        write!(out, "{clear}{text}")?;
        out.flush()?;
        let [done, _, _, failed, blocked, _] = counts(&results.states);
        if args.once || done + failed + blocked == plan.units.len() {
            return Ok(if failed > 0 { Verdict::Failed } else { Verdict::Fine });
        }
        std::thread::sleep(pause);
    }
}

/// One look.
fn view(results: &Results) -> String {
    let states = counts(&results.states);
    let total = results.plan.units.len();
    let mut text = format!("{}: {}\n", results.study.name, results.study.title);
    let filled = (40 * states[0]).checked_div(total).unwrap_or(0);
    let bar: String = (0..40).map(|i| if i < filled { '#' } else { '.' }).collect();
    let _ = writeln!(text, "[{bar}] {} of {} units", thousands(states[0]), thousands(total));
    let others = UnitState::ALL.iter().zip(states).skip(1).filter(|(_, count)| *count > 0);
    let others: Vec<String> = others.map(|(s, n)| format!("{n} {}", s.word())).collect();
    if !others.is_empty() {
        let _ = writeln!(text, "{}", others.join(", "));
    }
    text.push('\n');
    curves(results, &mut text);
    failures(results, &mut text);
    text
}

/// The mean error over finished sources, by arm and condition.
fn curves(results: &Results, text: &mut String) {
    let mut cells: BTreeMap<(u32, u32), BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    for place in results.plan.places.iter().filter(|p| p.measured.is_none()) {
        let summary = results.summaries[place.unit as usize].as_ref();
        if let Some(Summary { outcome: Short::Trained { evaluations, .. }, .. }) = summary {
            let cell = cells.entry((place.arm, place.condition)).or_default();
            for (update, mean) in evaluations {
                cell.entry(*update).or_default().push(*mean);
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
        let _ = writeln!(text, "{}", line.chars().take(COLUMNS).collect::<String>());
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
        if let Some(Summary { outcome: Short::Failed { what }, .. }) = &results.summaries[unit] {
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
