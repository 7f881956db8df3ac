//! The seven-point curve with both streams and the FF-versus-FF band.

use super::{excess, first_of};
use backcut_page::draw::{Axis, Drawing, Key, Plot, PlotSpec, Series, range};
use backcut_page::report::Results;
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Estimate;
use backcut_page::report::{ReportError, ShowEstimate as _};

use crate::words::condition;

const NAME: &str = "seven-point";
const STREAM_A: &str = "stream a";
const STREAM_B: &str = "stream b";
/// The second stream is the same cut: the same colour and mark, left open.
const SECOND: Series = Series::VERMILION;
/// How far the streams stand from their noise, to the left and to the right.
const SHIFT: f64 = 4.0;
const TITLE: &str = "Excess of F_SG over FF after 200 updates";

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["c2"])?;
    let mut data = Data::default();
    let (mut first, mut second, mut spread) = (Vec::new(), Vec::new(), Vec::new());
    let conditions = results.study(study).map(|s| s.conditions()).unwrap_or_default();
    for condition in conditions {
        let Ok(noise) = condition.parse::<f64>() else { continue };
        match results.estimate(study, &excess("F_SG", condition)) {
            Ok(e) => first.push((noise, e.scaled(100.0))),
            Err(why) => data.gap(why),
        }
        let b = format!("c2/{condition}");
        let on_b = format!("([F_SG_b@{b}] - [FF_b@{b}]) / [FF_b@{b}]");
        match results.estimate("c4", &on_b) {
            Ok(e) => second.push((noise, e.scaled(100.0))),
            Err(why) => data.gap(format!("stream b: {why}")),
        }
        let noise_of_ff = format!("([FF_b@{b}] - [FF@{b}]) / [FF@{b}]");
        let deviation = results.estimate("c4", &noise_of_ff).ok().and_then(|e| e.deviation());
        if let Some(deviation) = deviation {
            spread.push((noise, 100.0 * deviation));
        }
    }
    if first.is_empty() {
        return Err(ReportError::missing(NAME, format!("no condition of {study} has FF and F_SG")));
    }
    for (list, name) in [(&first, STREAM_A), (&second, STREAM_B)] {
        for (noise, e) in list {
            data.estimate("", name, &format!("{noise:.2}"), e, "%");
        }
    }
    for (noise, deviation) in &spread {
        let condition = format!("{noise:.2}");
        data.value("", "FF against FF", &condition, "standard deviation", *deviation, "%");
    }
    let panel = panel(&first, &second, &spread);
    let mut legend = vec![
        Key::mark(Series::VERMILION, "stream a, mean"),
        Key::thin(Series::VERMILION, "stream a, single seeds"),
    ];
    if !second.is_empty() {
        legend.push(Key::open(SECOND, "stream b, mean"));
    }
    if !spread.is_empty() {
        legend.push(Key::band("FF against FF, one deviation"));
    }
    Ok(Drawing {
        title: "Excess of F_SG over FF by velocity noise".into(),
        caption: format!(
            "Study c2 (stream a) and c4 (stream b): relative excess r = (L_F_SG - L_FF) / L_FF of \
             continuations from a warm start. Means with pointwise 95% source-bootstrap intervals (descriptive); \
             thin lines are single seeds of stream a. Grey band: one standard deviation of the \
             difference between two FF continuations of the same warm state, either way.{}",
            data.gap_sentence()
        ),
        legend,
        panels: vec![panel],
        alt:
            "Relative excess error of F_SG over FF against velocity noise, on two sampling streams."
                .into(),
        csv: data.csv(),
    })
}

type Points = [(f64, Estimate)];

fn panel(first: &Points, second: &Points, spread: &[(f64, f64)]) -> backcut_page::draw::Panel {
    let values = first.iter().chain(second).flat_map(|(_, e)| e.values.iter().map(|(_, v)| *v));
    let band = spread.iter().flat_map(|(_, d)| [*d, -d]);
    let y = range(values.chain(band).chain([0.0])).unwrap_or([-1.0, 1.0]);
    let noises = || first.iter().chain(second).map(|(noise, _)| *noise);
    let x = [noises().fold(f64::INFINITY, f64::min), noises().fold(0.0, f64::max)];
    let mut plot = Plot::new(&PlotSpec {
        title: TITLE,
        x: Axis::Numbers(x),
        x_label: "velocity noise (m/s)",
        y,
        y_is_log: false,
        y_label: "relative excess r (%)",
        height: 280.0,
    });
    let mut outline: Vec<(f64, f64)> =
        spread.iter().map(|(noise, d)| (plot.x(*noise), plot.y(*d))).collect();
    outline.extend(spread.iter().rev().map(|(noise, d)| (plot.x(*noise), plot.y(-d))));
    plot.canvas.polygon("band veil", &outline);
    let mut seeds: Vec<&String> =
        first.iter().flat_map(|(_, e)| e.values.iter().map(|(s, _)| s)).collect();
    seeds.sort();
    seeds.dedup();
    for seed in seeds {
        let of_seed = |e: &Estimate| e.values.iter().find(|(s, _)| s == seed).map(|(_, v)| *v);
        let points: Vec<(f64, f64)> = first
            .iter()
            .filter_map(|(noise, e)| Some((plot.x(*noise) - SHIFT, plot.y(of_seed(e)?))))
            .collect();
        plot.canvas.polyline("s1 thin", &points, None);
    }
    for (list, series, shift, open, name) in [
        (second, SECOND, SHIFT, true, STREAM_B),
        (first, Series::VERMILION, -SHIFT, false, STREAM_A),
    ] {
        let points: Vec<(f64, f64)> =
            list.iter().map(|(noise, e)| (plot.x(*noise) + shift, plot.y(e.mean))).collect();
        let class = format!("s{} line", series.index());
        plot.canvas.polyline(&class, &points, open.then_some("5 3"));
        for (noise, e) in list {
            let what = format!("{name}, {}", condition(&format!("{noise:.2}")));
            let place = plot.x(*noise) + shift;
            if open {
                plot.sources(series, place, e, &what, "%");
            } else {
                plot.sources_in_line(series, place, e, &what, "%");
            }
            plot.mean(series, place, e, &what, "%", open);
        }
    }
    plot.finish()
}
