//! Gains of the physical chain by lag.

use std::collections::BTreeMap;

use backcut_page::draw::{Axis, Drawing, Key, Panel, Series};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_page::report::results::{Results, Study};
use backcut_stats::quantile::quantiles;
use backcut_text::format::number;

use super::super::first_of;
use super::{PRETRAINED, Which, line, needs, part, plot_of, record, rows};
use crate::paper::{Paper, Published};
use crate::words::published;

pub const NAME: &str = "vessel-chain";
const LINES: [(&str, &str, Series); 3] = [
    ("chain.gain.median", "median", Series::BLUE),
    ("chain.gain.p95", "95th percentile", Series::ORANGE),
    ("chain.gain.max", "largest", Series::VERMILION),
];

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = results.one(Some(first_of(results, NAME, &["b1", "b1-quick"])?))?;
    let mut data = Data::default();
    let title = "At the pretrained state";
    let mut panels: Vec<Panel> =
        panel(&mut data, study, PRETRAINED, title, Some(paper)).into_iter().collect();
    if panels.is_empty() {
        return Err(ReportError::missing(
            NAME,
            format!("study {} holds no chain gains", study.name),
        ));
    }
    match results.study("b7") {
        Some(further) => {
            let title = "Trained further (median of the streams)";
            panels.extend(panel(&mut data, further, "more", title, None));
        }
        None => data.gap("study b7 was not collected".into()),
    }
    let growth =
        rows(study, Which { quantity: "chain.growth.p95", arm: PRETRAINED, ..Which::default() });
    let growth = growth.iter().find(|(row, _)| part(row) == "t=T").map_or_else(String::new, |(_, v)| {
        let theirs = paper.claim("B1 growth").and_then(|c| c.paper).map(|v| published(v, None));
        let theirs = theirs.map_or_else(String::new, |v| format!(" (the paper's: {v})"));
        format!(" 95th percentile of the largest gain over the first, at the last step: {}{theirs}.", number(*v))
    });
    Ok(Drawing {
        title: "How far a disturbance of the state grows (vessel)".into(),
        caption: format!(
            "Gain of the closed loop over k steps, memory detached, in units of distance, over end points and \
             trajectories of one batch. Short bars: the paper's medians at the first and the last lag, of other ships; the \
             dashed line is no growth.{growth} Descriptive.{}",
            data.gap_sentence()
        ),
        legend: LINES
            .iter()
            .map(|(_, name, series)| Key::line(*series, *name))
            .chain([Key::line(Series::GREY, "the paper's median")])
            .collect(),
        panels,
        alt: "Gain of the physical chain against the number of steps.".into(),
        csv: data.csv(),
    })
}

fn panel(
    data: &mut Data,
    study: &Study,
    arm: &str,
    title: &str,
    paper: Option<&Paper>,
) -> Option<Panel> {
    let mut lines = Vec::new();
    for (quantity, name, series) in LINES {
        let mut by_lag: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (row, value) in rows(study, Which { quantity, arm, ..Which::default() }) {
            if let Some(lag) = part(row).strip_prefix("k=").and_then(|k| k.parse().ok()) {
                by_lag.entry(lag).or_default().push(value);
            }
        }
        let of_lag =
            |(lag, mut values): (u64, Vec<f64>)| (lag as f64, quantiles(&mut values, &[0.5])[0]);
        let points: Vec<(f64, f64)> = by_lag.into_iter().map(of_lag).collect();
        for (lag, value) in &points {
            data.value(title, name, &format!("k={lag}"), "median of sources", *value, "ratio");
        }
        lines.push((name, series, points));
    }
    let last = lines.iter().filter_map(|(.., points)| points.last()).map(|(lag, _)| *lag);
    let last = last.fold(f64::NEG_INFINITY, f64::max);
    let values: Vec<f64> =
        lines.iter().flat_map(|(.., points)| points.iter().map(|(_, gain)| *gain)).collect();
    let published: Vec<(f64, Published)> = [1.0, 288.0]
        .into_iter()
        .filter(|lag| *lag <= last)
        .filter_map(|lag| {
            let unit = if lag == 1.0 { "step" } else { "steps" };
            Some((lag, paper?.claim(&format!("B1 gain, {lag} {unit}"))?.published()?))
        })
        .collect();
    let spans = |ends: [f64; 2]| ends[1] / ends[0] > 8.0;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let is_wide = spans([least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)]);
    let all = values
        .into_iter()
        .chain(published.iter().flat_map(|(_, theirs)| needs(Some(*theirs))))
        .chain([1.0]);
    let axis = Axis::Numbers([0.0, last]);
    let mut plot = plot_of(all, is_wide, [title, "lag k (steps of 5 minutes)", "gain"], axis)
        .filter(|_| last.is_finite())?;
    plot.rule("s6", 1.0, "");
    for (name, series, points) in &lines {
        line(&mut plot, &format!("s{} line", series.index()), points, series.dashes());
        for (lag, gain) in [points.first()?, points.last()?] {
            let (x, y) = (plot.x(*lag), plot.y(*gain));
            let text = format!("{name} at k = {lag}: {}", number(*gain));
            plot.canvas.mark(*series, x, y, false, &text);
        }
    }
    for (lag, theirs) in published {
        record(data, theirs, [title, "the paper's median", &format!("k={lag}"), "", "ratio"]);
        let what = format!("the paper's median at k = {lag}");
        plot.published(plot.x(lag), theirs.0, theirs.1, &what, "");
    }
    Some(plot.finish())
}
