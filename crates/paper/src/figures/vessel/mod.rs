//! The vessel's figures: other ships than the paper's, so what is relative stands beside its values and what is in km² alone.

mod ages;
mod chain;
mod gradient;
mod horizon;
mod layers;
mod learning;
mod noise;
mod placement;

use backcut_evidence::tables::UnitState;
use backcut_evidence::tables::rows::Observation;
use backcut_page::draw::{Axis, Drawing, Plot, PlotSpec, Series, range};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_page::report::results::Study;
use backcut_stats::quantile::quantiles;
use backcut_text::format::number;

use crate::Reproduction;
use crate::entry::Published;

impl Reproduction {
    /// Makes a figure of the vessel; nothing if there is none of this name.
    pub(super) fn vessel_figure(&self, name: &str) -> Option<Result<Drawing, ReportError>> {
        let (results, paper) = (&self.results, &self.paper);
        Some(match name {
            gradient::NAME => gradient::draw(results, paper),
            chain::NAME => chain::draw(results, paper),
            ages::NAME => ages::draw(results, paper),
            layers::NAME => layers::draw(results, paper),
            placement::NAME => placement::draw(results, paper),
            learning::NAME => learning::draw(results, paper),
            horizon::NAME => horizon::draw(results),
            noise::NAME => noise::draw(results),
            _ => return None,
        })
    }
}

/// The vessel's studies, which the quadrotor's figures leave alone.
pub const STUDIES: [&str; 10] =
    ["b1", "b1-quick", "b2", "b3", "b3-quick", "b5", "b7", "d1", "e6", "e7-vessel"];

/// The four training paths.
const PATHS: [&str; 4] = ["FF", "FD", "KF", "KD"];
/// The state after pretraining, as B1 and B7 name it.
const PRETRAINED: &str = "first";

/// Which rows are meant.
#[derive(Clone, Copy, Default)]
struct Which<'a> {
    quantity: &'a str,
    arm: &'a str,
    cut: &'a str,
    update: Option<u64>,
}

/// Rows with a value, in the order of the table.
fn rows<'s>(study: &'s Study, which: Which<'_>) -> Vec<(&'s Observation, f64)> {
    let fits = |row: &&Observation| {
        row.state == UnitState::Done
            && row.arm == which.arm
            && row.of.as_deref().unwrap_or_default() == which.cut
            && which.update.is_none_or(|update| update == row.update)
    };
    let rows = study.measured(which.quantity).filter(fits);
    rows.filter_map(|row| Some((row, row.value?))).collect()
}

/// The part of a row.
fn part(row: &Observation) -> &str {
    row.part.as_deref().unwrap_or_default()
}

/// Single values with their median and the range from the 16th to the 84th percentile.
struct Spread {
    values: Vec<(String, f64)>,
    middle: [f64; 3],
}

impl Spread {
    fn new(values: Vec<(String, f64)>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        if sorted.is_empty() {
            return None;
        }
        let found = quantiles(&mut sorted, &[0.16, 0.5, 0.84]);
        Some(Self { values, middle: [found[0], found[1], found[2]] })
    }

    fn median(&self) -> f64 {
        self.middle[1]
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        self.values.iter().map(|(_, value)| *value)
    }

    /// Small marks for the values.
    fn dots(&self, plot: &mut Plot, series: Series, x: f64, what: &str, unit: &str) {
        let dot = |(i, (name, value)): (usize, &(String, f64))| {
            let shift = ((i * 7) % 11) as f64 / 10.0 - 0.5;
            ((x + 9.0 * shift, plot.y(*value)), format!("{name}: {} {unit}", number(*value)))
        };
        let dots: Vec<_> = self.values.iter().enumerate().map(dot).collect();
        plot.canvas.dots(series, what, dots);
    }

    /// A large mark for the median, with a bar.
    fn middle(&self, plot: &mut Plot, series: Series, x: f64, what: &str, unit: &str) {
        let [low, median, high] = self.middle.map(|value| plot.y(value));
        plot.canvas.interval(series, x, low, high);
        let [low, middle, high] = self.middle.map(number);
        let text = format!(
            "{what}: median {middle} {unit}, 16 to 84%: {low} to {high}, of {}",
            self.values.len()
        );
        plot.canvas.mark(series, x, median, false, &text);
    }

    fn record(&self, data: &mut Data, panel: &str, series: &str, condition: &str, unit: &str) {
        for (name, value) in ["16%", "median", "84%"].into_iter().zip(self.middle) {
            data.value(panel, series, condition, name, value, unit);
        }
        for (name, value) in &self.values {
            data.value(panel, series, condition, name, *value, unit);
        }
    }
}

/// A panel that holds some values; by their logarithm if they are positive and `is_log`.
fn plot_of(
    values: impl IntoIterator<Item = f64>,
    is_log: bool,
    [title, x_label, y_label]: [&str; 3],
    x: Axis,
) -> Option<Plot> {
    let values: Vec<f64> = values.into_iter().collect();
    let is_log = is_log && values.iter().all(|value| *value > 0.0);
    let places = values.iter().map(|value| if is_log { value.log10() } else { *value });
    let y = range(places)?;
    Some(Plot::new(&PlotSpec { title, x, x_label, y, y_is_log: is_log, y_label, height: 230.0 }))
}

/// What a panel must hold to show a published value.
fn needs(theirs: Option<Published>) -> impl Iterator<Item = f64> {
    theirs.into_iter().flat_map(|(value, ends)| ends.into_iter().flatten().chain([value]))
}

/// Keeps a published value, with its interval, in the data: `[panel, series, condition, what, unit]`.
fn record(
    data: &mut Data,
    (value, interval): Published,
    [panel, series, condition, what, unit]: [&str; 5],
) {
    data.value(panel, series, condition, what, value, unit);
    for (end, side) in interval.into_iter().flatten().zip(["lower", "upper"]) {
        data.value(panel, series, condition, &format!("{what}, {side}"), end, unit);
    }
}

/// Names along the bottom.
fn names(all: &[&str]) -> Axis {
    Axis::Names(all.iter().map(|name| (*name).to_owned()).collect())
}

/// A line through values at numbers along the bottom.
fn line(plot: &mut Plot, class: &str, points: &[(f64, f64)], dashes: Option<&str>) {
    let places: Vec<(f64, f64)> = points.iter().map(|(x, y)| (plot.x(*x), plot.y(*y))).collect();
    plot.canvas.polyline(class, &places, dashes);
}
