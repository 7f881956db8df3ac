//! Four graphs after 400 and 800 updates of rollouts, stream by stream.

use backcut_draw::{Drawing, Key, Panel, Series};
use backcut_report::data::Data;
use backcut_report::estimate::Estimate;
use backcut_report::results::Results;
use backcut_report::{ReportError, ShowEstimate as _};

use super::super::{first_of, series_of};
use super::{PATHS, names, plot_of};
use crate::measured::{at_update, plain_error};
use crate::paper::Paper;

pub const NAME: &str = "vessel-learning";
const CONDITION: &str = "default";
/// Updates of rollouts, and updates in all.
const TIMES: [(&str, u64); 2] = [("400", 4400), ("800", 4800)];
/// Where the error of constant velocity on the same panel was measured.
const PLAIN: [(&str, &str); 2] = [("b5", "rollout-4000"), ("b7", "FF")];

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["b3"])?;
    let mut data = Data::default();
    let plain = PLAIN.iter().find_map(|(study, arm)| plain_error(results, study, arm).ok());
    if plain.is_none() {
        data.gap("constant velocity, which study b5 measures".into());
    }
    let mut panels = Vec::new();
    for (time, update) in TIMES {
        panels.extend(errors(&mut data, results, (study, time, update), plain, paper));
    }
    panels.extend(differences(&mut data, results, study));
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, format!("no graph of {study} was evaluated")));
    }
    Ok(Drawing {
        title: "Learning under four graphs (vessel)".into(),
        caption: format!(
            "Study {study}: rollout error on the evaluation panel after 400 and 800 updates from one pretrained state, on \
             all streams; {}. Last panel: each graph against FF on the same stream. Means with pointwise 95% source-bootstrap \
             intervals (the study's own families decide), single streams as small marks.{}",
            match plain {
                Some(_) =>
                    "1 is constant velocity, short bars are the paper's means, of other ships",
                None => "in km², so the paper's values do not compare",
            },
            data.gap_sentence()
        ),
        legend: PATHS
            .iter()
            .map(|path| Key::mark(series_of(path), *path))
            .chain(plain.map(|_| Key::line(Series::GREY, "the paper's mean")))
            .collect(),
        panels,
        alt: "Rollout error of four graphs after 400 and 800 updates, by stream.".into(),
        csv: data.csv(),
    })
}

fn errors(
    data: &mut Data,
    results: &Results,
    (study, time, update): (&str, &str, u64),
    plain: Option<f64>,
    paper: &Paper,
) -> Option<Panel> {
    let title = format!("After {time} updates");
    let unit = if plain.is_some() { "times constant velocity's" } else { "km²" };
    let mut means: Vec<(usize, Estimate, Option<f64>)> = Vec::new();
    for (i, arm) in PATHS.iter().enumerate() {
        match at_update(results, study, arm, CONDITION, update) {
            Ok(values) => {
                let e = results.from_values(values.into_iter().collect(), Vec::new());
                let e = e.scaled(plain.map_or(1.0, |plain| 1.0 / plain));
                data.estimate(&title, arm, time, &e, unit);
                let theirs = plain.and_then(|_| {
                    paper.cell(
                        "b5",
                        &format!("{arm} {time}"),
                        &format!("{time} updates of rollouts"),
                    )
                });
                means.push((i, e, theirs));
            }
            Err(why) => data.gap(why),
        }
    }
    if means.is_empty() {
        return None;
    }
    let values = means.iter().flat_map(|(_, e, theirs)| {
        e.values.iter().map(|(_, v)| *v).chain(*theirs).collect::<Vec<f64>>()
    });
    let values: Vec<f64> = values.chain(plain.map(|_| 1.0)).collect();
    let label = if plain.is_some() { "error / constant velocity's" } else { "error (km²)" };
    let mut plot = plot_of(values, false, [&title, "graph", label], names(&PATHS))?;
    if plain.is_some() {
        plot.rule("s6", 1.0, "constant velocity");
    }
    for (i, e, theirs) in &means {
        let arm = PATHS[*i];
        plot.estimate(series_of(arm), plot.slot(*i, -0.05), e, arm, unit, false);
        if let Some(value) = theirs {
            data.value(&title, arm, time, "the paper's mean", *value, unit);
            plot.reference(plot.slot(*i, 0.25), *value, &format!("the paper's mean, {arm}"), unit);
        }
    }
    Some(plot.finish())
}

/// Every graph against FF on the same stream.
fn differences(data: &mut Data, results: &Results, study: &str) -> Option<Panel> {
    let title = "Against FF on the same stream";
    let mut means: Vec<(usize, usize, Estimate)> = Vec::new();
    for (i, (time, update)) in TIMES.into_iter().enumerate() {
        let full = at_update(results, study, PATHS[0], CONDITION, update).ok()?;
        for (j, arm) in PATHS.iter().enumerate().skip(1) {
            let own = at_update(results, study, arm, CONDITION, update).ok()?;
            let change = |(source, value): (String, f64)| {
                let full = full.get(&source)?;
                Some((source, 100.0 * (value - full) / full))
            };
            let e = results.from_values(own.into_iter().filter_map(change).collect(), Vec::new());
            data.estimate(title, arm, time, &e, "% of FF");
            means.push((i, j, e));
        }
    }
    let values = means.iter().flat_map(|(_, _, e)| e.values.iter().map(|(_, v)| *v));
    let labels = [title, "updates of rollouts", "error above FF (%)"];
    let axis = names(&TIMES.map(|(time, _)| time));
    let mut plot = plot_of(values.chain([0.0]), false, labels, axis)?;
    for (i, j, e) in &means {
        let what = format!("{} - FF, {} updates", PATHS[*j], TIMES[*i].0);
        let x = plot.slot(*i, *j as f64 * 0.22 - 0.44);
        plot.estimate(series_of(PATHS[*j]), x, e, &what, "%", false);
    }
    Some(plot.finish())
}
