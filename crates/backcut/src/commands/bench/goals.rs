//! What passed and what missed, beside the noise of the moment.
//!
//! Goals are ratios within one run of the command, so they hold for any machine; a time in
//! milliseconds is no goal. What misses its goal by less than the noise is open: a shared machine
//! must not fail a check.

use std::fmt::Write as _;

use serde::Serialize;

use super::Measured;
use crate::look::{Tone, Tones};

/// Words that decide.
pub const TONES: Tones =
    &[("passed", Tone::Good), ("missed", Tone::Bad), ("open", Tone::Open), ("busy", Tone::Open)];
/// Above this the machine had something else to do.
const BUSY: f64 = 0.05;

/// How a value stands to its goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Reached.
    Passed,
    /// Not reached, by less than the noise.
    Open,
    /// Not reached.
    Missed,
}

/// A goal and how it stands.
#[derive(Serialize, Clone, PartialEq, Debug)]
#[expect(clippy::struct_field_names, reason = "the goal of a goal is called so in the JSON too")]
pub struct Goal {
    what: &'static str,
    value: f64,
    goal: f64,
    unit: &'static str,
    /// Whether the value should not be above the goal.
    is_limit: bool,
    standing: Standing,
}

impl Goal {
    fn new(
        what: &'static str,
        value: f64,
        (is_limit, goal): (bool, f64),
        unit: &'static str,
        noise: f64,
    ) -> Self {
        let short_by = if is_limit { value / goal - 1.0 } else { 1.0 - value / goal };
        let standing = match short_by {
            short if short <= 0.0 => Standing::Passed,
            short if short <= noise => Standing::Open,
            _ => Standing::Missed,
        };
        Self { what, value, goal, unit, is_limit, standing }
    }
}

fn at_most(goal: f64) -> (bool, f64) {
    (true, goal)
}

fn at_least(goal: f64) -> (bool, f64) {
    (false, goal)
}

/// Every goal, with the noise of the times that it rests on; bytes have none.
pub fn of(measured: &Measured) -> Vec<Goal> {
    let Measured { products, updates, threads, .. } = measured;
    let noise = updates.noise;
    vec![
        Goal::new("slowest product", products.slowest(), at_least(90.0), "% of peak", noise),
        Goal::new("dearest cut", updates.dearest_cut(), at_most(1.05), "x FF's time", noise),
        Goal::new("six graphs", updates.six_graphs(), at_most(3.0), "x FF's time", noise),
        Goal::new("largest cut", updates.largest_cut(), at_most(1.01), "x FF's bytes", 0.0),
        Goal::new("two threads", threads.speedup, at_least(1.8), "x one", noise),
    ]
}

/// A line per goal, then how much of it is noise.
pub fn text(goals: &[Goal], noise: f64) -> String {
    let mut out = "goals\n".to_owned();
    for Goal { what, value, goal, unit, is_limit, standing } in goals {
        let bound = if *is_limit { "at most" } else { "at least" };
        let digits = if *goal >= 10.0 { 0 } else { 2 };
        let _ = writeln!(
            out,
            "  {:<7} {what:<16} {value:>6.digits$} {unit:<12} (goal: {bound} {goal:.digits$})",
            format!("{standing:?}").to_lowercase()
        );
    }
    let _ = writeln!(
        out,
        "noise: half of the FF updates took within {:.1}% of their median, which is the\nmargin of \
         every verdict on a time",
        100.0 * noise
    );
    if noise > BUSY {
        out += "this machine is busy: repeat it when it is quiet\n";
    }
    out
}

/// Half the distance between the quartiles, as a share of the median.
pub fn noise(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    if sorted.is_empty() { 0.0 } else { 0.5 * (at(0.75) - at(0.25)) / at(0.5) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_missed_only_beyond_the_noise() {
        let of = |value, noise| Goal::new("a", value, at_most(2.0), "x", noise).standing;
        assert_eq!(of(2.0, 0.0), Standing::Passed);
        assert_eq!(of(2.05, 0.1), Standing::Open);
        assert_eq!(of(2.05, 0.01), Standing::Missed);
        let least = |value| Goal::new("a", value, at_least(2.0), "x", 0.05).standing;
        assert_eq!(
            [2.5, 1.95, 1.0].map(least),
            [Standing::Passed, Standing::Open, Standing::Missed]
        );
        assert_eq!(of(f64::NAN, 0.1), Standing::Missed, "what was not measured is not passed");
    }

    #[test]
    fn noise_is_half_the_middle_half() {
        assert_eq!(noise(&[1.0, 2.0, 3.0, 4.0, 5.0]), 1.0 / 3.0);
        assert_eq!(noise(&[2.0; 7]), 0.0);
        assert_eq!(noise(&[]), 0.0);
        let goals = [Goal::new("six graphs", 3.1, at_most(3.0), "x FF's time", 0.2)];
        let text = text(&goals, 0.2);
        assert!(text.contains("open    six graphs") && text.contains("busy"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
