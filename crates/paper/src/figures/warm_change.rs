//! The change of each arm against its warm start.

use super::{first_of, series_of};
use backcut_page::draw::{Axis, Drawing, Key, Panel, Plot, PlotSpec, range};
use backcut_page::report::Results;
use backcut_page::report::data::Data;
use backcut_page::report::{ReportError, ShowEstimate as _};

use crate::words::condition;

const NAME: &str = "warm-change";
const ARMS: [&str; 3] = ["FF", "FD", "F_SG"];

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    first_of(results, NAME, &["c2", "c1-hidden", "a6", "a4", "c1-first"])?;
    let mut data = Data::default();
    let mut panels = Vec::new();
    for (study, title) in [
        ("c2", "Seven noise levels (c2)"),
        ("c1-hidden", "Hidden velocity (c1-hidden)"),
        ("a6", "28 new seeds (a6)"),
    ] {
        if results.study(study).is_none() {
            data.gap(format!("study {study} was not collected"));
            continue;
        }
        panels.extend(panel(results, study, title, &mut data));
    }
    if panels.is_empty() {
        return Err(ReportError::missing(
            NAME,
            "no collected continuation has warm starts".to_owned(),
        ));
    }
    Ok(Drawing {
        title: "Change against the warm start".into(),
        caption: format!(
            "(L_warm - L) / L_warm after 200 further updates: above zero is an improvement. Means with \
             pointwise 95% source-bootstrap intervals (descriptive), single sources behind them.{}",
            data.gap_sentence()
        ),
        legend: ARMS.iter().map(|arm| Key::mark(series_of(arm), *arm)).collect(),
        panels,
        alt: "Relative change of FF, FD and F_SG continuations against their warm starts.".into(),
        csv: data.csv(),
    })
}

fn panel(results: &Results, study: &str, title: &str, data: &mut Data) -> Option<Panel> {
    let conditions = results.study(study)?.conditions();
    let mut estimates = Vec::new();
    for (i, condition) in conditions.iter().enumerate() {
        for (j, arm) in ARMS.iter().enumerate() {
            let expression =
                format!("([warm@{condition}] - [{arm}@{condition}]) / [warm@{condition}]");
            match results.estimate(study, &expression) {
                Ok(e) => {
                    let e = e.scaled(100.0);
                    data.estimate(study, arm, condition, &e, "%");
                    estimates.push((i, j, e));
                }
                Err(why) => data.gap(format!("{study}: {why}")),
            }
        }
    }
    let values = estimates.iter().flat_map(|(_, _, e)| e.values.iter().map(|(_, v)| *v));
    let y = range(values.chain([0.0])).filter(|_| !estimates.is_empty())?;
    let mut plot = Plot::new(&PlotSpec {
        title,
        x: Axis::Names(conditions.iter().map(|c| (*c).to_owned()).collect()),
        x_label: "velocity noise (m/s)",
        y,
        y_is_log: false,
        y_label: "change (%), up is better",
        height: 240.0,
    });
    for (i, j, e) in &estimates {
        let x = plot.slot(*i, *j as f64 * 0.28 - 0.28);
        let what = format!("{}, {}", ARMS[*j], condition(conditions[*i]));
        plot.estimate(series_of(ARMS[*j]), x, e, &what, "%", false);
    }
    Some(plot.finish())
}
