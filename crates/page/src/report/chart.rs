//! Values by place: columns over names, or lines along numbers. Most figures are made of these.

use crate::draw::{Axis, Panel, Plot, PlotSpec, Series, range};
use crate::report::data::Data;
use crate::report::estimate::Estimate;
use crate::report::format::{estimate, exact, number};

/// What the large mark among some values is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Middle {
    /// Their mean, with its interval.
    Mean,
    /// Their median, with the range from the 16th to the 84th percentile.
    Median,
    /// The only one of them.
    Alone,
}

/// A value from elsewhere, for the side of ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Beside {
    /// The value.
    pub value: f64,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// What it is, in words.
    pub what: String,
}

/// What stands at one place.
#[derive(Clone, Debug)]
pub struct Point {
    /// The number along the bottom, or the place of a name.
    pub at: f64,
    /// The values.
    pub estimate: Estimate,
    /// What the large mark is.
    pub middle: Middle,
    /// What all of it is, in words.
    pub what: String,
    /// What stands beside it.
    pub beside: Option<Beside>,
}

impl Point {
    /// A mean over a name, with nothing beside it.
    pub fn mean(place: usize, estimate: &Estimate, what: String) -> Self {
        let (estimate, middle) = (estimate.clone(), Middle::Mean);
        Self { at: place as f64, estimate, middle, what, beside: None }
    }

    fn sources(&self) -> &[(String, f64)] {
        if self.middle == Middle::Alone { &[] } else { &self.estimate.values }
    }

    /// Everything that a panel must have room for.
    fn reach(&self, is_bare: bool) -> impl Iterator<Item = f64> {
        let Estimate { mean, interval, .. } = &self.estimate;
        let sources = self.sources().iter().filter(move |_| !is_bare).map(|(_, v)| *v);
        let beside = self.beside.iter();
        let beside = beside.flat_map(|b| b.interval.into_iter().flatten().chain([b.value]));
        sources.chain(interval.iter().flatten().copied()).chain([*mean]).chain(beside)
    }

    fn words(&self, unit: &str) -> String {
        let Self { estimate: e, what, .. } = self;
        match (self.middle, e.interval.map(|ends| ends.map(number))) {
            (Middle::Mean, _) => words(e, what, unit),
            (Middle::Median, Some([low, high])) => format!(
                "{what}: median {} {unit}, 16 to 84%: {low} to {high}, of {}",
                number(e.mean),
                e.n()
            ),
            _ => format!("{what}: {} {unit}", number(e.mean)),
        }
    }
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their colour and shape.
    pub series: Series,
    /// What they are called.
    pub label: String,
    /// Whether large marks are open.
    pub open: bool,
    /// Whether a line runs through every single source.
    pub thin: bool,
    /// Whether it is one value for the whole panel, drawn across it.
    pub level: bool,
    /// From left to right.
    pub points: Vec<Point>,
}

impl Group {
    /// Filled marks, each by itself.
    pub fn new(series: Series, label: &str, points: Vec<Point>) -> Self {
        let label = label.to_owned();
        Self { series, label, open: false, thin: false, level: false, points }
    }
}

/// A panel of columns or lines.
#[expect(clippy::struct_excessive_bools, reason = "each is a word of a description")]
#[derive(Clone, Default, Debug)]
pub struct Chart {
    /// The title above it.
    pub title: String,
    /// Names along the bottom; numbers if there are none.
    pub names: Vec<String>,
    /// The label of the bottom.
    pub x_label: String,
    /// The label of the side.
    pub y_label: String,
    /// The values' unit.
    pub unit: String,
    /// The panel's height.
    pub height: f64,
    /// Whether zero belongs to the panel.
    pub zero: bool,
    /// Whether values lie by their logarithm, where all are positive.
    pub log: bool,
    /// Whether a line runs through the large marks.
    pub line: bool,
    /// Whether single sources are left to the data.
    pub bare: bool,
    /// Values that are drawn across, dashed, with a label.
    pub rules: Vec<(f64, String)>,
    /// Half the height of a band around zero, along the bottom.
    pub band: Vec<(f64, f64)>,
    /// What is drawn.
    pub groups: Vec<Group>,
}

/// More marks than this on a line leave a pointer nothing to hit: the line answers it instead.
pub const MARKS: usize = 16;

impl Chart {
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.groups.iter().flat_map(|group| &group.points)
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.points.is_empty())
    }

    /// Every value that the panel must have room for.
    pub fn reach(&self) -> impl Iterator<Item = f64> {
        let own = self.points().flat_map(|point| point.reach(self.bare));
        let band = self.band.iter().flat_map(|(_, half)| [*half, -half]);
        let rules = self.rules.iter().map(|(value, _)| *value);
        own.chain(band).chain(rules).chain(self.zero.then_some(0.0))
    }

    /// Draws it, on a scale of its own if none is given; nothing if it is empty.
    pub fn panel(&self, scale: Option<[f64; 2]>) -> Option<Panel> {
        if self.is_empty() {
            return None;
        }
        let is_log = self.log && self.reach().all(|value| value > 0.0);
        let place = |value: f64| if is_log { value.log10() } else { value };
        let y = scale.or_else(|| range(self.reach().map(place)))?;
        let last = self.points().map(|p| p.at).fold(f64::NEG_INFINITY, f64::max);
        let first = self.points().map(|p| p.at).fold(0.0, f64::min);
        let x = match self.names.as_slice() {
            [] => Axis::Numbers([first, last]),
            names => Axis::Names(names.to_vec()),
        };
        let mut plot = Plot::new(&PlotSpec {
            title: &self.title,
            x,
            x_label: &self.x_label,
            y,
            y_is_log: is_log,
            y_label: &self.y_label,
            height: self.height,
        });
        let upper = self.band.iter().map(|(at, half)| (*at, *half));
        let lower = self.band.iter().rev().map(|(at, half)| (*at, -half));
        let outline: Vec<_> = upper.chain(lower).map(|(at, v)| (plot.x(at), plot.y(v))).collect();
        plot.canvas.polygon("band veil", &outline);
        for (value, label) in &self.rules {
            plot.rule("s6", *value, label);
        }
        let columns = self.columns();
        for group in &self.groups {
            self.behind(&mut plot, group, columns);
        }
        for group in &self.groups {
            self.before(&mut plot, group, columns);
        }
        Some(plot.finish())
    }

    /// Groups that stand side by side wherever two have a point at one place.
    fn columns(&self) -> usize {
        let groups = || self.groups.iter().filter(|group| !group.level);
        let here = |at: f64| groups().filter(|g| g.points.iter().any(|p| p.at == at)).count();
        if self.points().any(|point| here(point.at) > 1) { groups().count() } else { 1 }
    }

    /// Where a group's points lie, and how wide a column is.
    fn places(&self, plot: &Plot, group: &Group, columns: usize) -> (Vec<f64>, f64) {
        let mut beside = self.groups.iter().filter(|group| !group.level);
        let place = beside.position(|other| std::ptr::eq(other, group)).unwrap_or(0);
        let middle = if columns > 1 { place as f64 - (columns - 1) as f64 / 2.0 } else { 0.0 };
        if self.names.is_empty() {
            let is_single = group.points.iter().all(|point| point.middle == Middle::Alone);
            let shift = if is_single { 0.0 } else { 6.0 * middle };
            return (group.points.iter().map(|p| plot.x(p.at) + shift).collect(), 20.0);
        }
        let room = if self.line { 0.5 } else { 0.8 } / columns as f64;
        let at = |point: &Point| plot.slot(point.at as usize, middle * room);
        let width = room * (plot.slot(1, 0.0) - plot.slot(0, 0.0));
        (group.points.iter().map(at).collect(), width)
    }

    /// What lies behind the large marks: single sources, and lines.
    fn behind(&self, plot: &mut Plot, group: &Group, columns: usize) {
        let Group { series, points, .. } = group;
        let class = |what: &str| format!("s{} {what}", series.index());
        if group.level {
            for point in points {
                let (y, (left, right)) = (plot.y(point.estimate.mean), plot.sides());
                plot.canvas.line(&class("line"), (left, y), (right, y), series.dashes());
                plot.canvas.mark(*series, right - 3.0, y, false, &point.words(&self.unit));
            }
            return;
        }
        let (places, width) = self.places(plot, group, columns);
        if group.thin {
            let sources = points.iter().flat_map(Point::sources);
            let mut sources: Vec<&String> = sources.map(|(source, _)| source).collect();
            sources.sort();
            sources.dedup();
            for source in sources {
                let of = |(x, point): (&f64, &Point)| {
                    let value = point.sources().iter().find(|(other, _)| other == source)?.1;
                    Some((*x, plot.y(value)))
                };
                let line: Vec<(f64, f64)> = places.iter().zip(points).filter_map(of).collect();
                plot.canvas.polyline(&class("thin"), &line, None);
            }
        }
        if self.line {
            let line: Vec<(f64, f64)> =
                places.iter().zip(points).map(|(x, p)| (*x, plot.y(p.estimate.mean))).collect();
            let dashes = if group.open { Some("5 3") } else { series.dashes() };
            if points.len() > MARKS {
                let value = |p: &Point| (exact(p.at), number(p.estimate.mean));
                let values: Vec<_> = points.iter().map(value).collect();
                let name = format!("{} at", group.label);
                plot.canvas.curve(&class("line"), &line, dashes, &name, &values);
            } else {
                plot.canvas.polyline(&class("line"), &line, dashes);
            }
        }
        for (x, point) in places.iter().zip(points).filter(|_| !self.bare) {
            let (left, spread) = match point.middle {
                Middle::Median => (x - (0.16 * width).clamp(6.0, 12.0), 9.0),
                _ if group.thin => (*x, 0.0),
                _ => (*x, 5.0),
            };
            // Spread a little, so that none hides another.
            let aside = |n: usize| spread * (((n * 7) % 11) as f64 / 10.0 - 0.5);
            let dot = |(n, (source, value)): (usize, &(String, f64))| {
                let text = format!("{source}: {} {}", number(*value), self.unit);
                ((left + aside(n), plot.y(*value)), text)
            };
            let dots: Vec<_> = point.sources().iter().enumerate().map(dot).collect();
            if !dots.is_empty() {
                plot.canvas.dots(*series, &point.what, dots);
            }
        }
    }

    /// The large marks with their intervals, and what stands beside them.
    fn before(&self, plot: &mut Plot, group: &Group, columns: usize) {
        let Group { series, points, level, open, .. } = group;
        if *level {
            return;
        }
        let (places, width) = self.places(plot, group, columns);
        let ends = [0, points.len().saturating_sub(1)];
        for (i, (x, point)) in places.iter().zip(points).enumerate() {
            let is_median = point.middle == Middle::Median && !self.bare;
            let at = if is_median { x + (0.1 * width).clamp(3.0, 8.0) } else { *x };
            if let Some([low, high]) = point.estimate.interval {
                let (low, high) = (plot.y(low), plot.y(high));
                plot.canvas.interval(*series, at, low, high);
            }
            let is_marked = !self.line || points.len() <= MARKS || ends.contains(&i);
            if is_marked {
                let y = plot.y(point.estimate.mean);
                plot.canvas.mark(*series, at, y, *open, &point.words(&self.unit));
            }
            if let Some(Beside { value, interval, what }) = &point.beside {
                let aside = at + (0.3 * width).clamp(7.0, 16.0);
                plot.published(aside, *value, *interval, what, &self.unit);
            }
        }
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

impl Data {
    /// Adds what stands at a place, with what stands beside it.
    pub fn point(&mut self, [panel, series, condition]: [&str; 3], point: &Point, unit: &str) {
        let Point { estimate, middle, .. } = point;
        let names = ["16%", "median", "84%"];
        if let (Middle::Median, Some([low, high])) = (middle, estimate.interval) {
            for (name, value) in names.into_iter().zip([low, estimate.mean, high]) {
                self.value(panel, series, condition, name, value, unit);
            }
        }
        match middle {
            Middle::Mean => self.estimate(panel, series, condition, estimate, unit),
            Middle::Median | Middle::Alone => {
                for (name, value) in &estimate.values {
                    self.value(panel, series, condition, name, *value, unit);
                }
            }
        }
        if let Some(Beside { value, interval, what }) = &point.beside {
            self.value(panel, series, condition, what, *value, unit);
            for (end, side) in interval.iter().flatten().zip(["lower", "upper"]) {
                self.value(panel, series, condition, &format!("{what}, {side}"), *end, unit);
            }
        }
    }
}
