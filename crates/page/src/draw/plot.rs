//! One panel with axes.

use crate::draw::PANEL_WIDTH;
use crate::draw::canvas::{Anchor, Canvas};
use crate::draw::drawing::Panel;
use crate::draw::scale::{Scale, ticks};
use crate::draw::width::{shorten, width_of, wrap};
use backcut_text::format::fixed;

/// What runs along the bottom.
#[derive(Clone, Debug)]
pub enum Axis {
    /// Numbers over a range.
    Numbers([f64; 2]),
    /// Names, evenly spaced.
    Names(Vec<String>),
}

/// What a panel is to show.
#[derive(Clone, Debug)]
pub struct PlotSpec<'a> {
    /// The title above it.
    pub title: &'a str,
    /// What runs along the bottom.
    pub x: Axis,
    /// The label of the bottom.
    pub x_label: &'a str,
    /// The range of the values, or of their decimal logarithms.
    pub y: [f64; 2],
    /// Whether values lie by their logarithm.
    pub y_is_log: bool,
    /// The label of the side.
    pub y_label: &'a str,
    /// The height of the panel.
    pub height: f64,
}

/// A panel that is being drawn.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The shapes.
    pub canvas: Canvas,
    title: String,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
    y_is_log: bool,
    names: usize,
}

const SIZE: f64 = 10.5;
/// Less room than this holds no name.
const NAME_ROOM: f64 = 24.0;

/// Most ticks on a logarithmic side, and what they may be, densest first.
const LOG_TICKS: usize = 7;
const LOG_STEPS: [&[f64]; 5] = [
    &[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
    &[1.0, 2.0, 5.0],
    &[1.0, 3.0],
    &[1.0],
];

/// Places and labels of the side's ticks.
fn side_ticks(spec: &PlotSpec<'_>) -> (Vec<f64>, Vec<String>) {
    let [low, high] = spec.y;
    if !spec.y_is_log {
        let (values, decimals) = ticks(low, high, 5);
        let labels = values.iter().map(|v| fixed(*v, decimals)).collect();
        return (values, labels);
    }
    if high - low < 0.3 {
        let [from, to] = [low, high].map(|end| 10f64.powf(end));
        let (values, decimals) = ticks(from, to, 5);
        let values = values.into_iter().filter(|value| *value > 0.0);
        return values.map(|value| (value.log10(), fixed(value, decimals))).unzip();
    }
    let powers = (low.floor() as i32)..=(high.ceil() as i32);
    let inside = |steps: &[f64]| {
        let all = powers.clone().flat_map(|p| steps.iter().map(move |s| s.log10() + f64::from(p)));
        all.filter(|at| (low..=high).contains(at)).count()
    };
    // The most ticks that have room.
    let steps = LOG_STEPS.iter().find(|steps| inside(steps) <= LOG_TICKS).unwrap_or(&LOG_STEPS[4]);
    powers
        .flat_map(|power| steps.iter().map(move |step| (step * 10f64.powi(power), power)))
        .filter(|(value, _)| (low..=high).contains(&value.log10()))
        .map(|(value, power)| {
            // One decimal more than the power needs, for steps such as 1.5.
            let text = fixed(value, (1 - power).max(0) as usize);
            let text = if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.')
            } else {
                &text
            };
            (value.log10(), text.to_owned())
        })
        .unzip()
}

impl Plot {
    /// Draws the axes, the grid and the labels.
    pub fn new(spec: &PlotSpec<'_>) -> Self {
        Self::with_room(spec, 0.0)
    }

    /// The same with at least so much room at the left, for names beneath it.
    pub fn with_room(spec: &PlotSpec<'_>, room: f64) -> Self {
        let (values, labels) = side_ticks(spec);
        let widest = labels.iter().map(|l| width_of(l, SIZE)).fold(0.0, f64::max);
        let title_lines = wrap(spec.title, 11.5, PANEL_WIDTH - 12.0);
        let (left, right) = ((widest + 24.0).max(room), PANEL_WIDTH - 8.0);
        let (top, bottom) = (8.0 + 15.0 * title_lines.len() as f64, spec.height - 36.0);
        let mut canvas = Canvas::default();
        for (i, line) in title_lines.iter().enumerate() {
            canvas.text("h ink", (6.0, 14.0 + 15.0 * i as f64), Anchor::Start, false, line);
        }
        let y = Scale::new(spec.y, [bottom, top]);
        for (value, label) in values.iter().zip(&labels) {
            let place = y.at(*value);
            let class = if *value == 0.0 && !spec.y_is_log { "soft-line" } else { "grid-line" };
            canvas.line(class, (left, place), (right, place), None);
            canvas.text("t soft", (left - 4.0, place + 3.5), Anchor::End, false, label);
        }
        let (x, names) = match &spec.x {
            Axis::Numbers(range) => {
                let x = Scale::new(*range, [left + 8.0, right - 8.0]);
                let (values, decimals) = ticks(range[0], range[1], 6);
                for value in values {
                    let label = fixed(value, decimals);
                    let place = (x.at(value), bottom + 13.0);
                    canvas.line("soft-line", (place.0, bottom), (place.0, bottom + 3.0), None);
                    canvas.text("t soft", place, Anchor::Middle, false, &label);
                }
                (x, 0)
            }
            Axis::Names(names) => {
                let x = Scale::new([0.0, names.len() as f64], [left, right]);
                let room = (right - left) / names.len().max(1) as f64;
                // Where names would be cut to nothing, some are shown whole: the first, the last
                // and steps between.
                let every = (NAME_ROOM / room).ceil().max(1.0) as usize;
                let (last, room) = (names.len().saturating_sub(1), room * every as f64);
                let shown = |i: usize| i == last || (i.is_multiple_of(every) && last - i >= every);
                for (i, name) in names.iter().enumerate().filter(|(i, _)| shown(*i)) {
                    let place = (x.at(i as f64 + 0.5), bottom + 13.0);
                    let name = shorten(name, SIZE, room + 2.0);
                    canvas.text("t soft", place, Anchor::Middle, false, &name);
                }
                (x, names.len())
            }
        };
        canvas.line("soft-line", (left, bottom), (right, bottom), None);
        let middle = (f64::midpoint(left, right), spec.height - 6.0);
        let x_label = shorten(spec.x_label, SIZE, right - left);
        canvas.text("t ink", middle, Anchor::Middle, false, &x_label);
        let side = (11.0, f64::midpoint(top, bottom));
        let y_label = shorten(spec.y_label, SIZE, bottom - top);
        canvas.text("t ink", side, Anchor::Middle, true, &y_label);
        Self {
            canvas,
            title: spec.title.to_owned(),
            height: spec.height,
            left,
            right,
            top,
            bottom,
            x,
            y,
            y_is_log: spec.y_is_log,
            names,
        }
    }

    /// The same for numbers along both sides, with the narrower range widened until a unit is as
    /// long across as it is up.
    pub fn to_scale(spec: &PlotSpec<'_>) -> Self {
        let Axis::Numbers(x) = spec.x else { return Self::new(spec) };
        let area = Self::new(spec);
        let (across, up) = (area.right - area.left - 16.0, area.bottom - area.top);
        let unit = ((x[1] - x[0]) / across).max((spec.y[1] - spec.y[0]) / up);
        let widened = |[low, high]: [f64; 2], room: f64| {
            let (middle, half) = (f64::midpoint(low, high), unit * room / 2.0);
            [middle - half, middle + half]
        };
        let (x, y) = (Axis::Numbers(widened(x, across)), widened(spec.y, up));
        Self::new(&PlotSpec { x, y, ..spec.clone() })
    }

    /// Where a number lies along the bottom.
    pub fn x(&self, value: f64) -> f64 {
        self.x.at(value)
    }

    /// Where a name lies, moved by a share of its room (-0.5 to 0.5).
    pub fn slot(&self, index: usize, share: f64) -> f64 {
        debug_assert!(self.names > 0, "slots belong to axes of names");
        self.x.at(index as f64 + 0.5 + share)
    }

    /// Where a value lies; a logarithmic panel has places for positive values only.
    pub fn y(&self, value: f64) -> f64 {
        self.y.at(if self.y_is_log { value.log10() } else { value })
    }

    /// Left and right end of the plotting area.
    pub fn sides(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// Top and bottom end of the plotting area.
    pub fn ends(&self) -> (f64, f64) {
        (self.top, self.bottom)
    }

    /// The same for a value without an interval.
    pub fn reference(&mut self, x: f64, value: f64, what: &str, unit: &str) {
        self.published(x, value, None, what, unit);
    }

    /// A value from elsewhere beside ours: a short bar with its interval, if it has one; a value
    /// beyond the panel is left out, and an interval ends where the panel does.
    pub fn published(
        &mut self,
        x: f64,
        value: f64,
        interval: Option<[f64; 2]>,
        what: &str,
        unit: &str,
    ) {
        let y = self.y(value);
        if y < self.top || y > self.bottom {
            return;
        }
        let text = format!("{what}: {} {unit}", backcut_text::format::estimate(value, interval));
        let ends = interval.map(|ends| ends.map(|end| self.y(end).clamp(self.top, self.bottom)));
        self.canvas.tick(x, y, ends, &text);
    }

    /// A dashed line across at a value, with a label at its left end.
    pub fn rule(&mut self, class: &str, value: f64, label: &str) {
        let y = self.y(value);
        self.canvas.line(&format!("{class} bar"), (self.left, y), (self.right, y), Some("3 3"));
        if !label.is_empty() {
            let at = (self.left + 4.0, y - 3.5);
            self.canvas.text("t ink halo", at, Anchor::Start, false, label);
        }
    }

    /// The finished panel.
    pub fn finish(self) -> Panel {
        Panel { body: self.canvas.body, height: self.height, title: self.title }
    }
}
