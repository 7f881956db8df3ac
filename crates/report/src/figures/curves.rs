//! Learning curves with the branch.

use std::collections::{BTreeMap, BTreeSet};

use super::data::Data;
use super::first_of;
use crate::error::ReportError;
use crate::format;
use crate::results::{Evaluation, Results};
use crate::svg::{Axis, Drawing, Key, Plot, PlotSpec, Series};

const NAME: &str = "curves";

/// Arms that are drawn, in the legend's order; the last one branches off the first.
const ARMS: [(&str, &str); 6] = [
    ("FF", "FF"),
    ("F_SG", "F_SG from the start"),
    ("w1", "w = 1"),
    ("w2", "w = 2"),
    ("SEG-8", "SEG-8"),
    ("F_SG_cont", "F_SG from update 800"),
];

/// The arm that branches off FF.
const BRANCHING: &str = "F_SG_cont";

/// Most points of a single source's line; more would not be seen.
const POINTS: usize = 60;

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["c5", "quick"])?;
    let rows = results.study(study).map(|s| s.curves.as_slice()).unwrap_or_default();
    let conditions = results.study(study).map(|s| s.conditions()).unwrap_or_default();
    let units = results.study(study).map(|s| s.units.as_slice()).unwrap_or_default();
    let branch = units.iter().find(|u| u.arm == BRANCHING).map(|u| u.from);
    let mut data = Data::new();
    let mut panels = Vec::new();
    let mut seen = Vec::new();
    for condition in conditions {
        let mut drawn = Vec::new();
        for (j, (arm, _)) in ARMS.iter().enumerate() {
            let start = branch.filter(|_| *arm == BRANCHING);
            let curve = Curve::of(rows, arm, condition, start);
            if curve.mean.len() > 1 {
                drawn.push((j, curve));
            }
        }
        if drawn.is_empty() {
            continue;
        }
        panels.push(panel(condition, &drawn, branch, &mut data));
        seen.extend(drawn.iter().map(|(j, _)| *j));
    }
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, format!("{study} holds no learning curves")));
    }
    seen.sort_unstable();
    seen.dedup();
    Ok(Drawing {
        title: "Learning curves".into(),
        caption: format!(
            "Study {study}: mean evaluation error over sources (lines) and single sources (thin), on a \
             logarithmic scale; descriptive, no intervals. The dotted vertical line is the update at which F_SG \
             branches off FF.{}",
            data.gap_sentence()
        ),
        legend: seen.iter().map(|j| Key::line(Series::of_arm(ARMS[*j].0), ARMS[*j].1)).collect(),
        panels,
        alt: "Evaluation error against training updates for every arm.".into(),
        csv: data.csv(),
    })
}

/// One arm's evaluations under one condition.
struct Curve {
    sources: BTreeMap<String, Vec<(f64, f64)>>,
    /// Means at updates that every source has.
    mean: Vec<(f64, f64)>,
}

impl Curve {
    /// An arm that branches off FF begins at FF's value of that update.
    fn of(rows: &[Evaluation], arm: &str, condition: &str, start: Option<u64>) -> Self {
        let is_own =
            |r: &&Evaluation| r.arm == arm && r.condition == condition && r.value.is_some();
        let own: BTreeSet<&str> = rows.iter().filter(is_own).map(|r| r.source.as_str()).collect();
        let begins = |row: &Evaluation| {
            let is_there = start == Some(row.update);
            row.arm == "FF" && is_there && own.contains(row.source.as_str())
        };
        let mut sources: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in rows.iter().filter(|r| r.condition == condition) {
            if row.arm != arm && !begins(row) {
                continue;
            }
            let Some(value) = row.value.filter(|value| *value > 0.0) else { continue };
            sources.entry(row.source.clone()).or_default().push((row.update as f64, value));
            at.entry(row.update).or_default().push(value);
        }
        for points in sources.values_mut() {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let complete = at.into_iter().filter(|(_, values)| values.len() == sources.len());
        let mean = complete
            .map(|(update, v)| (update as f64, v.iter().sum::<f64>() / v.len() as f64))
            .collect();
        Self { sources, mean }
    }
}

fn panel(
    condition: &str,
    drawn: &[(usize, Curve)],
    branch: Option<u64>,
    data: &mut Data,
) -> crate::svg::Panel {
    let title = format::under(condition);
    let points = || drawn.iter().flat_map(|(_, c)| c.sources.values().flatten().copied());
    // The first evaluations are far above everything else and would flatten the rest.
    let last = points().map(|(u, _)| u).fold(0.0, f64::max);
    let shown = |u: f64| u >= 0.05 * last;
    let values = points().filter(|(u, _)| shown(*u)).map(|(_, v)| v.log10());
    let y = crate::svg::range(values).unwrap_or([-3.0, -1.0]);
    let mut plot = Plot::new(&PlotSpec {
        title: &title,
        x: Axis::Numbers([0.0, last]),
        x_label: "update",
        y,
        y_is_log: true,
        y_label: "error (m²), logarithmic",
        height: 240.0,
    });
    let place = |plot: &Plot, points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let stride = points.len().div_ceil(POINTS).max(1);
        let kept = points.iter().rev().step_by(stride).filter(|(u, _)| shown(*u));
        let mut placed: Vec<_> = kept.map(|(u, v)| (plot.x(*u), plot.y(v.log10()))).collect();
        placed.reverse();
        placed
    };
    for (j, curve) in drawn {
        let (arm, label) = ARMS[*j];
        let class = format!("s{} thin", Series::of_arm(arm).index());
        for (source, points) in &curve.sources {
            let placed = place(&plot, points);
            plot.canvas.polyline(&class, &placed, None);
            for (update, value) in points {
                data.value(condition, label, &format::exact(*update), source, *value, "m²");
            }
        }
    }
    if let Some(start) = branch.filter(|_| drawn.iter().any(|(j, _)| ARMS[*j].0 == BRANCHING)) {
        let (top, bottom) = plot.ends();
        let x = plot.x(start as f64);
        plot.canvas.line("soft-line", (x, top), (x, bottom), Some("1.5 3"));
    }
    for (j, curve) in drawn {
        let (arm, label) = ARMS[*j];
        let series = Series::of_arm(arm);
        let placed = place(&plot, &curve.mean);
        plot.canvas.polyline(&format!("s{} line", series.index()), &placed, series.dashes());
        if let (Some((x, y)), Some((update, value))) = (placed.last(), curve.mean.last()) {
            let count = curve.sources.len();
            let text = format!(
                "{label} after {update} updates: mean {} m², {count} sources",
                format::number(*value)
            );
            plot.canvas.mark(series, *x, *y, false, &text);
        }
    }
    plot.finish()
}
