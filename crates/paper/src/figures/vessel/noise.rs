//! What F_SG costs by the noise on the velocity that is fed back.

use backcut_page::draw::{Drawing, Key, Panel, Series};
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Estimate;
use backcut_page::report::results::Results;
use backcut_page::report::{ReportError, ShowEstimate as _};

use super::super::{excess, first_of, series_of};
use super::{names, plot_of};

pub const NAME: &str = "vessel-noise";
const NOISES: [(&str, &str); 3] = [("exact", "0"), ("low", "0.1"), ("high", "0.3")];
const CUTS: [&str; 2] = ["F_SG", "FD"];

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["d1"])?;
    let mut data = Data::default();
    let gap = |cut: &str, noise: &str| format!("[{cut}@{noise}] - [FF@{noise}]");
    let percent = |cut: &str, noise: &str| excess(cut, noise);
    let warm =
        |cut: &str, noise: &str| format!("([{cut}@{noise}] - [warm@{noise}]) / [warm@{noise}]");
    let panels: Vec<Panel> = [
        panel(
            &mut data,
            results,
            study,
            &Asked {
                title: "Gap to FF",
                label: "gap (km²)",
                unit: "km²",
                scale: 1.0,
                arms: &CUTS,
                expression: &gap,
            },
        ),
        panel(
            &mut data,
            results,
            study,
            &Asked {
                title: "Gap, relative to FF's error",
                label: "error above FF (%)",
                unit: "% of FF",
                scale: 100.0,
                arms: &CUTS,
                expression: &percent,
            },
        ),
        panel(
            &mut data,
            results,
            study,
            &Asked {
                title: "Change against the warm start",
                label: "%, below zero is better",
                unit: "% of the warm start",
                scale: 100.0,
                arms: &["FF", "F_SG", "FD"],
                expression: &warm,
            },
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, data.gaps.join("; ")));
    }
    Ok(Drawing {
        title: "The cost of F_SG by observation noise (vessel)".into(),
        caption: format!(
            "Study {study}: 400 updates under FF, then 200 under each graph, with noise on the velocity that is fed back (as a \
             share of the training velocities' RMS). Means with pointwise 95% source-bootstrap intervals (the study's own family \
             decides), streams as small marks and, for F_SG, as thin lines. In km² the paper's ships do not compare.{}",
            data.gap_sentence()
        ),
        legend: ["F_SG", "FD", "FF"].iter().map(|arm| Key::mark(series_of(arm), *arm)).collect(),
        panels,
        alt: "Gap of F_SG to FF at three noise levels, by stream.".into(),
        csv: data.csv(),
    })
}

struct Asked<'a> {
    title: &'a str,
    label: &'a str,
    unit: &'a str,
    scale: f64,
    arms: &'a [&'a str],
    expression: &'a dyn Fn(&str, &str) -> String,
}

fn panel(data: &mut Data, results: &Results, study: &str, asked: &Asked<'_>) -> Option<Panel> {
    let mut means: Vec<(usize, usize, Estimate)> = Vec::new();
    for (i, (noise, _)) in NOISES.iter().enumerate() {
        for (j, arm) in asked.arms.iter().enumerate() {
            match results.estimate(study, &(asked.expression)(arm, noise)) {
                Ok(e) => {
                    let e = e.scaled(asked.scale);
                    data.estimate(asked.title, arm, noise, &e, asked.unit);
                    means.push((i, j, e));
                }
                Err(why) => data.gap(why),
            }
        }
    }
    if means.is_empty() {
        return None;
    }
    let values = means.iter().flat_map(|(_, _, e)| e.values.iter().map(|(_, v)| *v));
    let along: Vec<&str> = NOISES.iter().map(|(_, level)| *level).collect();
    let labels = [asked.title, "noise, share of the velocities' RMS", asked.label];
    let mut plot = plot_of(values.chain([0.0]), false, labels, names(&along))?;
    let shift = |j: usize| j as f64 * 0.24 - 0.12 * (asked.arms.len() - 1) as f64;
    if asked.arms == CUTS {
        let of_cut: Vec<_> = means.iter().filter(|(_, j, _)| *j == 0).collect();
        for source in of_cut.first().map(|(.., e)| e.values.clone()).unwrap_or_default() {
            let of = |e: &Estimate| e.values.iter().find(|(s, _)| *s == source.0).map(|(_, v)| *v);
            let place = |(i, j, e): &&(usize, usize, Estimate)| {
                Some((plot.slot(*i, shift(*j)), plot.y(of(e)?)))
            };
            let points: Vec<(f64, f64)> = of_cut.iter().filter_map(place).collect();
            plot.canvas.polyline(&format!("s{} thin", Series::VERMILION.index()), &points, None);
        }
    }
    for (i, j, e) in &means {
        let what = format!("{}, noise {}", asked.arms[*j], NOISES[*i].1);
        let x = plot.slot(*i, shift(*j));
        plot.estimate(series_of(asked.arms[*j]), x, e, &what, asked.unit, false);
    }
    Some(plot.finish())
}
