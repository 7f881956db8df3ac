//! Velocity-input weights, and the cost of reading another trajectory's history.

use super::quantities::{DONOR_COST, INPUT_WEIGHT};
use backcut_page::draw::{Axis, Drawing, Panel, Plot, PlotSpec, Series, range};
use backcut_page::report::Results;
use backcut_page::report::data::Data;
use backcut_page::report::estimate::{Estimate, Pick};
use backcut_page::report::{ReportError, ShowEstimate as _};

use crate::words::condition;

const NAME: &str = "intervention";

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let mut data = Data::default();
    let mut panels = Vec::new();
    for (study, quantity, title, label, unit) in [
        ("e1", INPUT_WEIGHT, "Velocity-input weights (e1)", "weight norm", "norm"),
        ("e3", DONOR_COST, "Another trajectory's history (e3)", "change of the error (m²)", "m²"),
    ] {
        let points = points(results, study, quantity);
        if points.is_empty() {
            data.gap(format!("study {study} holds no `{quantity}`"));
            continue;
        }
        for (noise, e) in &points {
            data.estimate(title, quantity, &format!("{noise:.2}"), e, unit);
        }
        panels.extend(panel(title, label, unit, &points));
    }
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, data.gaps.join("; ")));
    }
    Ok(Drawing {
        title: "Velocity input and borrowed history".into(),
        caption: format!(
            "Warm starts of study c2. Left: norm of the embedding's three world-frame velocity columns; it is not \
             the policy's sensitivity. Right: change of the error when the history is another trajectory's; \
             it is not the value of memory. Means with pointwise 95% source-bootstrap intervals, single seeds \
             as thin lines; post hoc.{}",
            data.gap_sentence()
        ),
        legend: Vec::new(),
        panels,
        alt: "Norm of the velocity-input weights, and cost of another trajectory's history, against velocity noise.".into(),
        csv: data.csv(),
    })
}

fn points(results: &Results, study: &str, quantity: &str) -> Vec<(f64, Estimate)> {
    let Some(tables) = results.study(study) else { return Vec::new() };
    let rows = tables.measured(quantity);
    let mut noises: Vec<(f64, &str)> = rows
        .filter_map(|row| Some((row.condition.parse().ok()?, row.condition.as_str())))
        .collect();
    noises.sort_by(|a, b| a.0.total_cmp(&b.0));
    noises.dedup();
    let make = |(noise, condition): (f64, &str)| {
        let values = results.measured(study, Pick { quantity, ..Pick::default() }, condition);
        let estimate = results.from_values(values.into_iter().collect(), Vec::new());
        (estimate.n() > 0).then_some((noise, estimate))
    };
    noises.into_iter().filter_map(make).collect()
}

fn panel(title: &str, label: &str, unit: &str, points: &[(f64, Estimate)]) -> Option<Panel> {
    let y = range(points.iter().flat_map(|(_, e)| e.values.iter().map(|(_, v)| *v)))?;
    let x = [points.first()?.0, points.last()?.0];
    let mut plot = Plot::new(&PlotSpec {
        title,
        x: Axis::Numbers(x),
        x_label: "velocity noise (m/s)",
        y,
        y_is_log: false,
        y_label: label,
        height: 230.0,
    });
    let mut seeds: Vec<&String> =
        points.iter().flat_map(|(_, e)| e.values.iter().map(|(s, _)| s)).collect();
    seeds.sort();
    seeds.dedup();
    for seed in seeds {
        let of = |e: &Estimate| e.values.iter().find(|(s, _)| s == seed).map(|(_, v)| *v);
        let line: Vec<(f64, f64)> =
            points.iter().filter_map(|(noise, e)| Some((plot.x(*noise), plot.y(of(e)?)))).collect();
        plot.canvas.polyline("s0 thin", &line, None);
    }
    let line: Vec<(f64, f64)> =
        points.iter().map(|(noise, e)| (plot.x(*noise), plot.y(e.mean))).collect();
    plot.canvas.polyline("s0 line", &line, None);
    for (noise, e) in points {
        let what = condition(&format!("{noise:.2}"));
        let place = plot.x(*noise);
        plot.sources_in_line(Series::BLUE, place, e, &what, unit);
        plot.mean(Series::BLUE, place, e, &what, unit, false);
    }
    Some(plot.finish())
}
