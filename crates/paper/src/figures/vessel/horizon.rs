//! How the error grows along the horizon, beside constant velocity.

use std::collections::BTreeMap;

use backcut_page::draw::{Axis, Drawing, Key, Panel, Plot, Series};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_page::report::results::{Results, Study};
use backcut_stats::quantile::mean;
use backcut_text::format::number;

use super::super::first_of;
use super::{Which, line, part, plot_of, rows};

pub const NAME: &str = "vessel-horizon";
const POLICY: &str = "reference.step";
const PLAIN: &str = "reference.plain-step";
const HOURS: f64 = 5.0 / 60.0;
/// Studies, arms, and what a line of theirs is.
const LINES: [(&str, &str, &str, Series); 3] = [
    ("b5", "rollout-4000", "pretrained", Series::BLUE),
    ("b7", "FF", "800 updates of rollouts", Series::GREEN),
    ("b7", "more", "1200 updates of rollouts", Series::VERMILION),
];
/// Retained checkpoints of pretraining; the last one is the first line's.
const CHECKPOINTS: [(&str, &str, usize); 5] = [
    ("rollout-800", "checkpoint 800", 5),
    ("rollout-1600", "checkpoint 1600", 3),
    ("rollout-2400", "checkpoint 2400", 4),
    ("rollout-3200", "checkpoint 3200", 7),
    ("rollout-4000", "pretrained", 0),
];

/// Hours and root of the mean squared distance, km.
type Points = Vec<(f64, f64)>;

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let study = results.one(Some(first_of(results, NAME, &["b5"])?))?;
    let mut data = Data::default();
    let mut lines: Vec<(String, Series, Points)> = Vec::new();
    for (from, arm, name, series) in LINES {
        let Some(tables) = results.study(from) else {
            data.gap(format!("study {from} was not collected"));
            continue;
        };
        let points = by_hour(tables, POLICY, arm);
        if points.is_empty() {
            data.gap(format!("study {from} holds no errors along the horizon of {arm}"));
        } else {
            lines.push((name.to_owned(), series, points));
        }
    }
    let plain = by_hour(study, PLAIN, LINES[0].1);
    lines.push(("constant velocity".to_owned(), Series::GREY, plain.clone()));
    let mut panels: Vec<Panel> =
        panel(&mut data, "The policy and constant velocity", &lines).into_iter().collect();
    let mut kept: Vec<(String, Series, Points)> = CHECKPOINTS
        .iter()
        .map(|(arm, name, n)| ((*name).to_owned(), Series::nth(*n), by_hour(study, POLICY, arm)))
        .filter(|(.., points)| !points.is_empty())
        .collect();
    let mut legend = lines.clone();
    if kept.len() > 1 {
        legend.extend(kept[..kept.len() - 1].iter().cloned());
        kept.push(("constant velocity".to_owned(), Series::GREY, plain));
        panels.extend(ratios(&mut data, &kept));
    }
    if panels.is_empty() {
        let why = format!("study {} holds no errors along the horizon", study.name);
        return Err(ReportError::missing(NAME, why));
    }
    Ok(Drawing {
        title: "Error along the horizon (vessel)".into(),
        caption: format!(
            "Studies b5 and b7: root of the mean squared distance to the true track on the evaluation panel, by hours since the \
             last observed position; trained states: over all streams. Last panel: retained checkpoints of pretraining, \
             relative to constant velocity, the dashed line. Descriptive; the paper shows none of this.{}",
            data.gap_sentence()
        ),
        legend: legend.into_iter().map(|(name, series, _)| Key::line(series, name)).collect(),
        panels,
        alt: "Distance between predicted and true positions against the hours predicted.".into(),
        csv: data.csv(),
    })
}

/// The mean over sources after each step that was measured, by hours.
fn by_hour(study: &Study, quantity: &str, arm: &str) -> Points {
    let mut steps: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (row, value) in rows(study, Which { quantity, arm, ..Which::default() }) {
        if let Some(step) = part(row).strip_prefix("step ").and_then(|s| s.parse().ok()) {
            steps.entry(step).or_default().push(value);
        }
    }
    let point = |(step, values): (u64, Vec<f64>)| (step as f64 * HOURS, mean(&values).sqrt());
    steps.into_iter().map(point).collect()
}

fn panel(data: &mut Data, title: &str, lines: &[(String, Series, Points)]) -> Option<Panel> {
    let all = || lines.iter().flat_map(|(.., points)| points);
    let last = all().map(|(hour, _)| *hour).fold(f64::NEG_INFINITY, f64::max);
    let labels = [title, "hours predicted", "RMS distance (km)"];
    let values: Vec<f64> = all().map(|(_, km)| *km).collect();
    if values.is_empty() {
        return None;
    }
    let axis = Axis::Numbers([0.0, last]);
    let mut plot = plot_of(values.into_iter().chain([0.0]), false, labels, axis)?;
    for (name, series, points) in lines {
        let start: Points = [(0.0, 0.0)].into_iter().chain(points.iter().copied()).collect();
        line(&mut plot, &format!("s{} line", series.index()), &start, series.dashes());
        dots(&mut plot, data, *series, [title, name, "km"], points);
    }
    Some(plot.finish())
}

/// Marks along a line that answer a pointer, and their rows of data.
fn dots(plot: &mut Plot, data: &mut Data, series: Series, words: [&str; 3], points: &Points) {
    let [title, name, unit] = words;
    let shown = if unit == "ratio" { "" } else { unit };
    let mut dots = Vec::new();
    for (hour, value) in points {
        data.value(title, name, &number(*hour), "mean", *value, unit);
        let text = format!("{} h: {} {shown}", number(*hour), number(*value));
        dots.push(((plot.x(*hour), plot.y(*value)), text));
    }
    plot.canvas.dots(series, name, dots);
}

/// Retained checkpoints over constant velocity, which is the last line.
fn ratios(data: &mut Data, lines: &[(String, Series, Points)]) -> Option<Panel> {
    let title = "Checkpoints over constant velocity";
    let ((.., plain), kept) = lines.split_last()?;
    let over = |points: &Points| -> Points {
        let pairs = points.iter().zip(plain).filter(|(_, (_, below))| *below > 0.0);
        pairs.map(|((hour, km), (_, below))| (*hour, km / below)).collect()
    };
    let kept: Vec<_> =
        kept.iter().map(|(name, series, points)| (name, *series, over(points))).collect();
    let all = || kept.iter().flat_map(|(.., points)| points);
    let last = all().map(|(hour, _)| *hour).fold(f64::NEG_INFINITY, f64::max);
    let values = all().map(|(_, ratio)| *ratio).chain([1.0]);
    let labels = [title, "hours predicted", "distance / constant velocity's"];
    let axis = Axis::Numbers([0.0, last]);
    let mut plot = plot_of(values, false, labels, axis).filter(|_| last.is_finite())?;
    plot.rule("s6", 1.0, "");
    for (name, series, points) in kept {
        line(&mut plot, &format!("s{} line", series.index()), &points, series.dashes());
        dots(&mut plot, data, series, [title, name, "ratio"], &points);
    }
    Some(plot.finish())
}
