//! Cost by segment length, with the value of memory as lines.

use super::{common_scale, excess, first_of, series_of};
use crate::paper::Paper;
use backcut_page::draw::{Axis, Drawing, Key, Plot, PlotSpec, Series};
use backcut_page::report::Results;
use backcut_page::report::data::Data;
use backcut_page::report::{ReportError, ShowEstimate as _};
use backcut_text::format;

use crate::words::under;

const NAME: &str = "segments";
/// Segment cuts are one family, from F_SG at L = 1 on.
const COST: Series = Series::SKY;
const UNIT: &str = "% above FF";
const WINDOWS: [(&str, &str); 2] = [("w1", "w = 1"), ("w2", "w = 2")];

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["c6", "quick"])?;
    let tables = results.study(study);
    let arms = tables.map(|s| s.arms()).unwrap_or_default();
    let mut lengths: Vec<(usize, String)> = vec![(1, "F_SG".into())];
    for arm in arms {
        if let Some(length) = arm.strip_prefix("SEG-").and_then(|l| l.parse().ok()) {
            lengths.push((length, arm.to_owned()));
        }
    }
    lengths.sort();
    if lengths.len() < 2 {
        return Err(ReportError::missing(NAME, format!("{study} holds no segment cuts")));
    }
    let known = tables.map(|s| s.arms()).unwrap_or_default();
    let windows: Vec<(&str, &str)> =
        WINDOWS.into_iter().filter(|(arm, _)| known.contains(arm)).collect();
    let mut data = Data::default();
    let mut found = Vec::new();
    for condition in tables.map(|s| s.conditions()).unwrap_or_default() {
        let mut costs = Vec::new();
        for (i, (length, arm)) in lengths.iter().enumerate() {
            match results.estimate(study, &excess(arm, condition)) {
                Ok(e) => {
                    let e = e.scaled(100.0);
                    data.estimate(condition, &format!("L = {length}"), condition, &e, UNIT);
                    costs.push((i, *length, e));
                }
                Err(why) => data.gap(why),
            }
        }
        if costs.is_empty() {
            continue;
        }
        let mut lines = Vec::new();
        for (arm, label) in windows.iter().copied() {
            match results.estimate(study, &excess(arm, condition)) {
                Ok(e) => {
                    let e = e.scaled(100.0);
                    data.estimate(condition, label, condition, &e, UNIT);
                    lines.push((arm, label, e));
                }
                Err(why) => data.gap(why),
            }
        }
        found.push((condition, costs, lines));
    }
    // Conditions are compared, so they share a scale.
    let all = found.iter().flat_map(|(_, costs, lines)| {
        costs.iter().map(|(_, _, e)| e).chain(lines.iter().map(|(_, _, e)| e))
    });
    let scale = common_scale(all);
    let mut panels = Vec::new();
    for (condition, costs, lines) in &found {
        let Some(range) = scale else { continue };
        let title = under(condition);
        let mut plot = Plot::new(&PlotSpec {
            title: &title,
            x: Axis::Names(lengths.iter().map(|(l, _)| l.to_string()).collect()),
            x_label: "segment length L (steps); 1 is F_SG",
            y: range,
            y_is_log: false,
            y_label: "error above FF (%)",
            height: 240.0,
        });
        for (arm, label, e) in lines {
            let y = plot.y(e.mean);
            let (left, right) = plot.sides();
            let series = series_of(arm);
            let class = format!("s{} line", series.index());
            plot.canvas.line(&class, (left, y), (right, y), series.dashes());
            let text = format!("value of memory, {label}: {}%", format::number(e.mean));
            plot.canvas.mark(series, right - 3.0, y, false, &text);
        }
        let series = COST;
        let points: Vec<(f64, f64)> =
            costs.iter().map(|(i, _, e)| (plot.slot(*i, 0.0), plot.y(e.mean))).collect();
        plot.canvas.polyline(&format!("s{} line", series.index()), &points, None);
        for (i, length, e) in costs {
            let x = plot.slot(*i, 0.0);
            plot.estimate(series, x, e, &format!("cost at L = {length}"), "%", false);
        }
        for (i, length, _) in costs {
            let expression = excess(&lengths[*i].1, condition);
            if let Some((value, interval)) = paper.published("c6", &expression) {
                let x = plot.slot(*i, 0.22);
                plot.published(x, value, interval, &format!("the paper's, L = {length}"), "%");
            }
        }
        panels.push(plot.finish());
    }
    if panels.is_empty() {
        return Err(ReportError::missing(
            NAME,
            format!("no arm of {study} can be compared with FF"),
        ));
    }
    let mut legend = vec![Key::mark(COST, "cost of SEG-L")];
    let memory = |(arm, label): &(&str, &str)| {
        Key::line(series_of(arm), format!("value of memory, {label}"))
    };
    legend.extend(windows.iter().map(memory));
    legend.push(Key::reference("the paper's mean and interval"));
    Ok(Drawing {
        title: "What longer segments recover".into(),
        caption: format!(
            "Study {study}: error of segment cuts SEG-L relative to FF at the last update, in percent; L = 1 is \
             F_SG. Means with pointwise 95% source-bootstrap intervals (descriptive), single sources behind \
             them. Horizontal lines: the mean value of memory under the same condition; grey, to the right of ours: the paper's means with its intervals. All panels have one scale.{}",
            data.gap_sentence()
        ),
        legend,
        panels,
        alt: "Cost of segment cuts falls with segment length; lines mark the value of memory for windows of one and two steps.".into(),
        csv: data.csv(),
    })
}
