//! Estimates on a panel: means with intervals, their sources behind them.

use crate::draw::{Plot, Series};
use backcut_text::format::{estimate, number};

use crate::report::estimate::Estimate;

/// What a panel with axes can show of an estimate.
pub trait ShowEstimate {
    /// A mean with its interval, its sources behind it.
    fn estimate(&mut self, s: Series, x: f64, e: &Estimate, what: &str, unit: &str, open: bool) {
        self.sources(s, x, e, what, unit);
        self.mean(s, x, e, what, unit, open);
    }

    /// The values per source, spread a little so that none hides another.
    fn sources(&mut self, series: Series, x: f64, e: &Estimate, what: &str, unit: &str);

    /// The values per source in one column, where lines of single sources run through them.
    fn sources_in_line(&mut self, series: Series, x: f64, e: &Estimate, what: &str, unit: &str);

    /// A mean with its interval.
    fn mean(&mut self, series: Series, x: f64, e: &Estimate, what: &str, unit: &str, open: bool);
}

/// How far the n-th of some sources stands to the side.
fn spread(n: usize) -> f64 {
    5.0 * (((n * 7) % 11) as f64 / 10.0 - 0.5)
}

fn dots(plot: &mut Plot, s: Series, x: impl Fn(usize) -> f64, e: &Estimate, words: [&str; 2]) {
    let [what, unit] = words;
    let dot = |(i, (source, value)): (usize, &(String, f64))| {
        ((x(i), plot.y(*value)), format!("{source}: {} {unit}", number(*value)))
    };
    let dots: Vec<_> = e.values.iter().enumerate().map(dot).collect();
    plot.canvas.dots(s, what, dots);
}

impl ShowEstimate for Plot {
    fn sources(&mut self, series: Series, x: f64, e: &Estimate, what: &str, unit: &str) {
        dots(self, series, |i| x + spread(i), e, [what, unit]);
    }

    fn sources_in_line(&mut self, series: Series, x: f64, e: &Estimate, what: &str, unit: &str) {
        dots(self, series, |_| x, e, [what, unit]);
    }

    fn mean(&mut self, series: Series, x: f64, e: &Estimate, what: &str, unit: &str, open: bool) {
        if let Some([low, high]) = e.interval {
            let (low, high) = (self.y(low), self.y(high));
            self.canvas.interval(series, x, low, high);
        }
        let y = self.y(e.mean);
        self.canvas.mark(series, x, y, open, &words(e, what, unit));
    }
}

/// An estimate in words: value, kind of interval, sources.
pub fn words(e: &Estimate, what: &str, unit: &str) -> String {
    let left_out = match e.missing.len() {
        0 => String::new(),
        count => format!("; {count} left out for missing values"),
    };
    let kind = if e.interval.is_some() { ", pointwise 95%" } else { "" };
    format!("{what}: {} {unit}{kind}, {} sources{left_out}", estimate(e.mean, e.interval), e.n())
}
