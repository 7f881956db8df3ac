//! Gradient difference, update difference and learning gap against noise.

use std::collections::BTreeMap;

use super::quantities::{ALL, RAW_DIFFERENCE, UPDATE_DIFFERENCE};
use super::{first_of, series_of};
use backcut_page::draw::{Axis, Drawing, Key, Panel, Plot, PlotSpec, range};
use backcut_page::report::Results;
use backcut_page::report::data::Data;
use backcut_page::report::estimate::{Estimate, Pick};
use backcut_page::report::{ReportError, ShowEstimate as _};

use crate::words::condition;

const NAME: &str = "three-layers";
const CUTS: [&str; 2] = ["F_SG", "FD"];

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["e4"])?;
    let mut data = Data::default();
    let mut panels = Vec::new();
    for (title, quantity, label) in [
        ("Gradient at the first step", RAW_DIFFERENCE, "|g - g_FF| / |g_FF|"),
        ("Update at the first step", UPDATE_DIFFERENCE, "|U - U_FF| / |U_FF|"),
    ] {
        let mut series = Vec::new();
        for cut in CUTS {
            let pick = Pick { quantity, cut: Some(cut), part: Some(ALL), ..Pick::default() };
            let points = by_noise(results, study, |c| {
                let values: BTreeMap<String, f64> = results.measured(study, pick, c);
                (!values.is_empty())
                    .then(|| results.from_values(values.into_iter().collect(), Vec::new()))
            });
            for (noise, e) in &points {
                data.estimate(title, &format!("{cut} - FF"), &format!("{noise:.2}"), e, "ratio");
            }
            series.push((cut, points));
        }
        match panel(title, label, &series, "") {
            Some(panel) => panels.push(panel),
            None => data.gap(format!("{study} holds no `{quantity}`")),
        }
    }
    let mut series = Vec::new();
    for cut in CUTS {
        let points = by_noise(results, "c2", |c| {
            results.estimate("c2", &format!("[{cut}@{c}] - [FF@{c}]")).ok().map(|e| e.scaled(1e3))
        });
        for (noise, e) in &points {
            data.estimate("learning", &format!("{cut} - FF"), &format!("{noise:.2}"), e, "1e-3 m²");
        }
        series.push((cut, points));
    }
    match panel("Learning after 200 updates", "gap R (0.001 m²)", &series, "0.001 m²") {
        Some(panel) => panels.push(panel),
        None => data.gap("study c2 was not collected".into()),
    }
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, data.gaps.join("; ")));
    }
    Ok(Drawing {
        title: "Three layers: gradient, update, learning".into(),
        caption: format!(
            "Studies e4 and c2: differences from FF at the first continuation step, and in the error after 200 \
             updates. Means with pointwise 95% source-bootstrap intervals, single sources behind them; descriptive, \
             post hoc.{}",
            data.gap_sentence()
        ),
        legend: CUTS.iter().map(|c| Key::mark(series_of(c), format!("{c} - FF"))).collect(),
        panels,
        alt: "Gradient difference, update difference and learning gap against velocity noise."
            .into(),
        csv: data.csv(),
    })
}

/// What `make` gives at every noise level of the study.
fn by_noise(
    results: &Results,
    study: &str,
    make: impl Fn(&str) -> Option<Estimate>,
) -> Vec<(f64, Estimate)> {
    let mut noises: Vec<String> = Vec::new();
    if let Some(tables) = results.study(study) {
        noises.extend(tables.conditions().into_iter().map(str::to_owned));
        noises.extend(tables.measurements().map(|row| row.condition.clone()));
    }
    let mut noises: Vec<(f64, String)> =
        noises.into_iter().filter_map(|c| Some((c.parse().ok()?, c))).collect();
    noises.sort_by(|a, b| a.0.total_cmp(&b.0));
    noises.dedup_by(|a, b| a.1 == b.1);
    noises.into_iter().filter_map(|(noise, c)| Some((noise, make(&c)?))).collect()
}

fn panel(
    title: &str,
    label: &str,
    series: &[(&str, Vec<(f64, Estimate)>)],
    unit: &str,
) -> Option<Panel> {
    let points = || series.iter().flat_map(|(_, points)| points);
    let y = range(points().flat_map(|(_, e)| e.values.iter().map(|(_, v)| *v)).chain([0.0]))?;
    let last = points().map(|(noise, _)| *noise).fold(f64::NEG_INFINITY, f64::max);
    if !last.is_finite() {
        return None;
    }
    let mut plot = Plot::new(&PlotSpec {
        title,
        x: Axis::Numbers([0.0, last]),
        x_label: "velocity noise (m/s)",
        y,
        y_is_log: false,
        y_label: label,
        height: 220.0,
    });
    for (i, (cut, points)) in series.iter().enumerate() {
        let series = series_of(cut);
        let shift = i as f64 * 6.0 - 3.0;
        let line: Vec<(f64, f64)> =
            points.iter().map(|(n, e)| (plot.x(*n) + shift, plot.y(e.mean))).collect();
        plot.canvas.polyline(&format!("s{} line", series.index()), &line, series.dashes());
        for (noise, e) in points {
            let what = format!("{cut} - FF, {}", condition(&format!("{noise:.2}")));
            let x = plot.x(*noise) + shift;
            plot.estimate(series, x, e, &what, unit, false);
        }
    }
    Some(plot.finish())
}
