//! The gradient by the time between a loss and the action that answers for it.

use backcut_page::draw::{Drawing, Key, Series};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_page::report::results::{Results, Study};
use backcut_text::format::number;

use super::super::first_of;
use super::{PRETRAINED, Which, names, part, plot_of, rows};
use crate::paper::Paper;
use crate::words::published;

pub const NAME: &str = "vessel-ages";
const CUTS: [(&str, Series); 2] = [("FD", Series::PURPLE), ("F_SG", Series::VERMILION)];

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = results.one(Some(first_of(results, NAME, &["b1", "b1-quick"])?))?;
    let mut data = Data::default();
    let mut panels = Vec::new();
    for (quantity, title, label) in [
        ("age.norm", "Contribution of an age alone", "norm, % of |g|"),
        ("age.reach", "Sum of all up to this age", "norm of the sum, % of |g|"),
    ] {
        let lines: Vec<_> = CUTS
            .iter()
            .map(|(cut, series)| (*cut, *series, shares(study, quantity, cut)))
            .collect();
        let Some((.., longest)) = lines.iter().max_by_key(|(.., points)| points.len()) else {
            continue;
        };
        let along: Vec<&str> =
            longest.iter().map(|(age, _)| age.split('-').next().unwrap_or(age)).collect();
        let values = lines.iter().flat_map(|(.., points)| points.iter().map(|(_, v)| *v));
        let labels = [title, "age in steps, from", label];
        let Some(mut plot) = plot_of(values.chain([0.0]), false, labels, names(&along))
            .filter(|_| !along.is_empty())
        else {
            data.gap(format!("`{quantity}`"));
            continue;
        };
        for (j, (cut, series, points)) in lines.iter().enumerate() {
            let shift = j as f64 * 0.24 - 0.12;
            let places: Vec<(f64, f64)> = points
                .iter()
                .enumerate()
                .map(|(i, (_, share))| (plot.slot(i, shift), plot.y(*share)))
                .collect();
            let class = format!("s{} line", series.index());
            plot.canvas.polyline(&class, &places, series.dashes());
            for ((x, y), (age, share)) in places.into_iter().zip(points) {
                data.value(title, cut, age, "", *share, "% of |g|");
                let text = format!("{cut}, age {age}: {}% of |g|", number(*share));
                plot.canvas.mark(*series, x, y, false, &text);
            }
        }
        panels.push(plot.finish());
    }
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, format!("study {} holds no ages", study.name)));
    }
    let which = Which { quantity: "age.cancellation", arm: PRETRAINED, cut: "FD", update: None };
    let ours = rows(study, which).first().map(|(_, value)| number(*value));
    let theirs = paper.claim("B1 cancellation").and_then(|c| c.paper).map(|v| published(v, None));
    let cancellation = ours.zip(theirs).map_or_else(String::new, |(ours, theirs)| {
        format!(" Cancellation, FD: {ours} (the paper's median over windows: {theirs}).")
    });
    Ok(Drawing {
        title: "The gradient by age (vessel)".into(),
        caption: format!(
            "Study {}: one batch at the pretrained state. First panel: norm of what losses so many steps after an action contribute; \
             second: norm of the sum over all ages up to this one, where 100% is the whole gradient. Where nothing cancels, the \
             second curve is the sum of the first.{cancellation} Descriptive.{}",
            study.name,
            data.gap_sentence()
        ),
        legend: CUTS.iter().map(|(cut, series)| Key::mark(*series, *cut)).collect(),
        panels,
        alt: "Norm of the gradient's contributions by age, and of their sum up to each age.".into(),
        csv: data.csv(),
    })
}

/// Ages with what they hold, relative to the sum over all of them.
fn shares(study: &Study, quantity: &str, cut: &str) -> Vec<(String, f64)> {
    let of = |quantity| rows(study, Which { quantity, arm: PRETRAINED, cut, update: None });
    let Some(whole) = of("age.reach").last().map(|(_, value)| *value).filter(|v| *v > 0.0) else {
        return Vec::new();
    };
    let age = |text: &str| text.strip_prefix("age ").unwrap_or(text).to_owned();
    of(quantity).into_iter().map(|(row, v)| (age(part(row)), 100.0 * v / whole)).collect()
}
