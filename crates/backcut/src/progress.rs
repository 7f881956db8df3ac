//! How far work has come, in one style: a bar with its count, the time it took and the time that is
//! left.
//!
//! At a terminal the line is drawn over and over (`indicatif`); in a log nothing is drawn, and
//! whoever wants lines there writes them with [`timing`].

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Cells of a bar.
const CELLS: usize = 8;
/// Done, the edge, and not yet done.
const MARKS: &str = "##.";

/// Whether somebody watches messages at a terminal that can draw over a line.
pub fn is_watched() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// What a bar counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// What needs no name.
    Things,
    /// Updates.
    Updates,
    /// Bytes of files.
    Bytes,
}

/// A bar of so many things; hidden where nobody watches.
pub fn bar(name: &str, total: u64, counts: Counts) -> ProgressBar {
    let count = match counts {
        Counts::Things => "{human_pos}/{human_len}",
        Counts::Updates => "{human_pos}/{human_len} updates",
        Counts::Bytes => "{bytes}/{total_bytes}",
    };
    let name = if name.is_empty() { "" } else { "{prefix} " };
    let template =
        format!("{name}[{{bar:{CELLS}}}] {count}, {{elapsed}} elapsed, {{eta}} left {{wide_msg}}");
    let bar = ProgressBar::new(total);
    bar.set_style(styled(&template));
    if !is_watched() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}

/// The line of one unit below a bar.
pub fn line(total: u64) -> ProgressBar {
    ProgressBar::new(total).with_style(styled("  {pos:>5}/{len} {wide_msg}"))
}

fn styled(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars(MARKS)
}

/// The same bar as text, for what is printed once.
pub fn drawn(done: usize, total: usize) -> String {
    let filled = (CELLS * done).checked_div(total).unwrap_or(0);
    format!("[{}{}]", "#".repeat(filled), ".".repeat(CELLS - filled))
}

/// `12 s elapsed, about 3 min left`: what is left if the rest goes as what was done, which takes
/// something done.
pub fn timing(elapsed: Duration, done: u64, left: u64) -> String {
    let seconds = elapsed.as_secs_f64();
    let so_far = format!("{} elapsed", words(seconds));
    match (done, left) {
        (_, 0) | (0, _) => so_far,
        _ => format!("{so_far}, about {} left", words(seconds * left as f64 / done as f64)),
    }
}

/// Seconds in words.
pub fn words(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_was_done() {
        let minute = Duration::from_mins(1);
        assert_eq!(timing(minute, 10, 30), "60 s elapsed, about 3 min left");
        assert_eq!(timing(minute, 0, 30), "60 s elapsed");
        assert_eq!(timing(minute, 10, 0), "60 s elapsed");
        assert_eq!(words(7200.0), "2.0 h");
    }

    #[test]
    fn a_bar_is_as_long_as_any_other() {
        assert_eq!(drawn(0, 3), "[........]");
        assert_eq!(drawn(3, 3), "[########]");
        assert_eq!(drawn(1, 2), "[####....]");
        assert_eq!(drawn(0, 0), "[........]");
    }
}
