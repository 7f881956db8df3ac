//! Learning curves, one panel per condition.

use std::collections::{BTreeMap, BTreeSet};

use crate::draw::{Axis, Drawing, Key, Panel, Plot, PlotSpec, Series, range};
use backcut_evidence::tables::rows::Observation;
use backcut_text::capital;

use super::ErrorWords;
use crate::report::data::Data;
use crate::report::error::ReportError;
use crate::report::format;
use crate::report::results::{Results, Study};

const NAME: &str = "curves";

/// Most points of a single source's line; more would not be seen.
const POINTS: usize = 60;

/// One arm's line.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// The arm.
    pub arm: &'a str,
    /// What the legend calls it.
    pub label: &'a str,
    /// Its colour.
    pub series: Series,
    /// The arm whose value begins the line, if it branches off one.
    pub parent: Option<&'a str>,
}

pub(super) fn draw(results: &Results, study: &Study) -> Result<Drawing, ReportError> {
    let palette = results.palette(study);
    let line = |arm| Line { arm, label: arm, series: palette.series(arm), parent: None };
    let lines: Vec<Line<'_>> = study.arms_in_order().into_iter().map(line).collect();
    let mut panels = Panels::new(study, study.error_words(), &lines);
    for condition in study.conditions() {
        panels.add(condition, condition);
    }
    let (panels, legend, data) = panels.finish()?;
    Ok(Drawing {
        title: format!("Learning curves of {}", study.name),
        caption: format!(
            "{}: means over sources (lines) and single sources (thin) on a logarithmic scale; \
             descriptive, no intervals. All panels have one scale. Evaluations in the first \
             twentieth of training and values that are not above zero are in the data only. A \
             dotted vertical line is the update at which arms branch off others.{}",
            capital(&study.error_words().error),
            data.gap_sentence()
        ),
        legend,
        panels,
        alt: "Evaluation error against training updates for every arm.".into(),
        csv: data.csv(),
    })
}

/// Panels that are being drawn for one study.
pub struct Panels<'a> {
    study: &'a Study,
    words: ErrorWords,
    lines: &'a [Line<'a>],
    found: Vec<Found>,
    seen: BTreeSet<usize>,
    data: Data,
}

/// The curves under one condition.
struct Found {
    condition: String,
    title: String,
    curves: Vec<(usize, Curve)>,
}

impl Found {
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.curves.iter().flat_map(|(_, c)| c.sources.values().flatten().copied())
    }

    /// The last update of the panel.
    fn last(&self) -> f64 {
        self.points().map(|(u, _)| u).fold(0.0, f64::max)
    }
}

/// The first evaluations are far above everything else and would flatten the rest.
fn is_shown(update: f64, last: f64) -> bool {
    update >= 0.05 * last
}

/// One arm's evaluations under one condition.
struct Curve {
    sources: BTreeMap<String, Vec<(f64, f64)>>,
    /// Means at updates that every source has.
    mean: Vec<(f64, f64)>,
}

impl<'a> Panels<'a> {
    /// Nothing drawn yet.
    pub fn new(study: &'a Study, words: ErrorWords, lines: &'a [Line<'a>]) -> Self {
        Self {
            study,
            words,
            lines,
            found: Vec::new(),
            seen: BTreeSet::new(),
            data: Data::default(),
        }
    }

    /// The panels on one scale, their legend and their data; an error if nothing could be drawn.
    pub fn finish(mut self) -> Result<(Vec<Panel>, Vec<Key>, Data), ReportError> {
        let found = std::mem::take(&mut self.found);
        let shown = found.iter().flat_map(|one| {
            let last = one.last();
            one.points().filter(move |(u, _)| is_shown(*u, last)).map(|(_, v)| v.log10())
        });
        let Some(scale) = range(shown) else {
            let why = format!("{} holds no learning curves", self.study.name);
            return Err(ReportError::missing(NAME, why));
        };
        let panels = found.iter().map(|one| self.panel(one, scale)).collect();
        let key = |i: &usize| Key::line(self.lines[*i].series, self.lines[*i].label);
        let legend = self.seen.iter().map(key).collect();
        Ok((panels, legend, self.data))
    }

    /// Takes the curves under a condition, if there are any.
    pub fn add(&mut self, condition: &str, title: &str) {
        let mut drawn = Vec::new();
        for (i, line) in self.lines.iter().enumerate() {
            let curve = self.curve(line, condition);
            if curve.mean.len() > 1 {
                drawn.push((i, curve));
            } else if self.study.units.iter().any(|u| u.arm == line.arm && u.condition == condition)
            {
                self.data.gap(format!("{} at {condition}", line.label));
            }
        }
        if !drawn.is_empty() {
            self.seen.extend(drawn.iter().map(|(i, _)| *i));
            let (condition, title) = (condition.to_owned(), title.to_owned());
            self.found.push(Found { condition, title, curves: drawn });
        }
    }

    /// The update at which an arm starts, if it is not the first.
    fn start(&self, arm: &str) -> Option<u64> {
        let unit = self.study.units.iter().find(|u| u.arm == arm)?;
        Some(unit.from).filter(|from| *from > 0)
    }

    /// An arm that branches off another begins at that one's value of that update.
    fn curve(&self, line: &Line<'_>, condition: &str) -> Curve {
        let rows = || self.study.errors().filter(|r| r.condition == condition);
        let is_own = |r: &&Observation| r.arm == line.arm && r.value.is_some();
        let own: BTreeSet<&str> = rows().filter(is_own).map(|r| r.source.as_str()).collect();
        let start = line.parent.and_then(|parent| Some((parent, self.start(line.arm)?)));
        let begins = |row: &Observation| {
            start.is_some_and(|(parent, at)| row.arm == parent && row.update == at)
                && own.contains(row.source.as_str())
        };
        let mut sources: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in rows().filter(|row| row.arm == line.arm || begins(row)) {
            if let Some(value) = row.value.filter(|value| *value > 0.0) {
                sources.entry(row.source.clone()).or_default().push((row.update as f64, value));
                at.entry(row.update).or_default().push(value);
            }
        }
        for points in sources.values_mut() {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let complete = at.into_iter().filter(|(_, values)| values.len() == sources.len());
        let mean = complete
            .map(|(update, v)| (update as f64, v.iter().sum::<f64>() / v.len() as f64))
            .collect();
        Curve { sources, mean }
    }

    fn panel(&mut self, found: &Found, scale: [f64; 2]) -> Panel {
        let Found { condition, title, curves: drawn } = found;
        let last = found.last();
        let unit = self.words.unit.clone();
        let y_label = format!("{}, logarithmic", self.words.label());
        let mut plot = Plot::new(&PlotSpec {
            title,
            x: Axis::Numbers([0.0, last]),
            x_label: "update",
            y: scale,
            y_is_log: true,
            y_label: &y_label,
            height: 240.0,
        });
        let kept = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let stride = points.len().div_ceil(POINTS).max(1);
            let kept = points.iter().rev().step_by(stride).filter(|(u, _)| is_shown(*u, last));
            let mut kept: Vec<_> = kept.copied().collect();
            kept.reverse();
            kept
        };
        let place = |plot: &Plot, points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            kept(points).into_iter().map(|(u, v)| (plot.x(u), plot.y(v))).collect()
        };
        for (i, curve) in drawn {
            let line = &self.lines[*i];
            let class = format!("s{} thin", line.series.index());
            for (source, points) in &curve.sources {
                let placed = place(&plot, points);
                plot.canvas.polyline(&class, &placed, None);
                for (update, value) in points {
                    let at = format::exact(*update);
                    self.data.value(condition, line.label, &at, source, *value, &unit);
                }
            }
        }
        let starts = drawn.iter().filter_map(|(i, _)| self.start(self.lines[*i].arm));
        let mut starts: Vec<u64> = starts.collect();
        starts.sort_unstable();
        starts.dedup();
        for start in starts {
            let ((top, bottom), x) = (plot.ends(), plot.x(start as f64));
            plot.canvas.line("soft-line", (x, top), (x, bottom), Some("1.5 3"));
        }
        for (i, curve) in drawn {
            let Line { label, series, .. } = self.lines[*i];
            let placed = place(&plot, &curve.mean);
            let words = |(u, v): (f64, f64)| (format::exact(u), format::number(v));
            let values: Vec<(String, String)> = kept(&curve.mean).into_iter().map(words).collect();
            let name = format!("{label}, mean error ({unit}) after update");
            let class = format!("s{} line", series.index());
            plot.canvas.curve(&class, &placed, series.dashes(), &name, &values);
            if let (Some((x, y)), Some((update, value))) = (placed.last(), curve.mean.last()) {
                let (count, value) = (curve.sources.len(), format::number(*value));
                let text =
                    format!("{label} after {update} updates: mean {value} {unit}, {count} sources");
                plot.canvas.mark(series, *x, *y, false, &text);
            }
        }
        plot.finish()
    }
}
