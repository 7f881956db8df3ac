//! F_SG against FD in gradients and updates, by the memory credit under which a state was trained.

use backcut_page::draw::{Axis, Drawing, Key, Panel, Series};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_page::report::results::{Results, Study};
use backcut_text::format::number;

use super::super::first_of;
use super::super::quantities::{ALL, PLACEMENT};
use super::{Spread, Which, names, needs, part, plot_of, record, rows};
use crate::compare::ours;
use crate::paper::{Entry, Paper};
use crate::words::published;

pub const NAME: &str = "vessel-placement";
const UPDATE: u64 = 4799;
const LAYERS: [(&str, &str, &str); 2] =
    [("raw", "gradient", "gradient"), ("applied", "update", "update")];
/// Pairs of cuts, and how the paper's claims end.
const PAIRS: [(&str, &str, &str); 2] = [
    ("F_SG - FD", "Full credit: F_SG and FD", ""),
    ("K_SG - KD", "One-step credit: K_SG and KD", ", one step"),
];
const HISTORIES: [(&str, [&str; 2], Series); 2] =
    [("detached", ["FD", "KD"], Series::VERMILION), ("full", ["FF", "KF"], Series::BLUE)];

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = results.one(Some(first_of(results, NAME, &["b2"])?))?;
    let mut data = Data::default();
    let mut panels = Vec::new();
    for (pair, title, ending) in PAIRS {
        panels.extend(panel(&mut data, study, paper, pair, title, ending));
    }
    panels.extend(scatter(&mut data, study));
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, format!("study {} holds no placement", study.name)));
    }
    let correlation = paper.claim("B2 rank correlation").and_then(|claim| {
        let ours = ours(results, claim).ok()?;
        let theirs = claim
            .paper
            .map_or_else(String::new, |v| format!("; the paper's: {}", published(v, None)));
        Some(format!(
            " Spearman in the last panel: {} of {} states{theirs}.",
            number(ours.value),
            ours.n
        ))
    });
    Ok(Drawing {
        title: "Two placements of the cut, by history (vessel)".into(),
        caption: format!(
            "Study {}: |x_F_SG - x_FD| / |x_FD| (K_SG and KD alike) in gradients and in applied updates, at states before \
             update 800 of rollouts. Small marks: states, by the memory credit of the path they were trained on; large marks: \
             medians, bars from the 16th to the 84th percentile; short bars: the paper's medians, of other ships (in gradients \
             that of all states). Last panel: the difference in updates against the gradient that F_SG adds to W_V, relative to \
             the root of its second moment.{} Descriptive.{}",
            study.name,
            correlation.unwrap_or_default(),
            data.gap_sentence()
        ),
        legend: HISTORIES
            .iter()
            .map(|(name, _, series)| Key::mark(*series, format!("trained with {name} memory")))
            .chain([Key::line(Series::GREY, "the paper's median")])
            .collect(),
        panels,
        alt: "Difference of two cut placements in gradients and updates, by training path.".into(),
        csv: data.csv(),
    })
}

/// One value per state of some paths.
fn states(
    study: &Study,
    quantity: &str,
    cut: &str,
    of: &str,
    paths: &[&str],
) -> Vec<(String, f64)> {
    let mut values = Vec::new();
    for arm in paths {
        let found = rows(study, Which { quantity, arm, cut, update: Some(UPDATE) });
        let found = found.into_iter().filter(|(row, _)| part(row) == of);
        values.extend(found.map(|(row, value)| (format!("{} of {arm}", row.source), value)));
    }
    values
}

fn percent(values: Vec<(String, f64)>) -> Vec<(String, f64)> {
    values.into_iter().map(|(name, value)| (name, 100.0 * value)).collect()
}

fn panel(
    data: &mut Data,
    study: &Study,
    paper: &Paper,
    pair: &str,
    title: &str,
    ending: &str,
) -> Option<Panel> {
    let mut columns = Vec::new();
    for (i, (layer, name, claimed)) in LAYERS.into_iter().enumerate() {
        for (j, (history, paths, series)) in HISTORIES.into_iter().enumerate() {
            let claim = if layer == "raw" {
                format!("B2 placement, {claimed}{ending}")
            } else {
                format!("B2 placement, {history} history{ending}")
            };
            let theirs = paper.claim(&claim).and_then(Entry::published);
            let quantity = format!("{layer}.{PLACEMENT}");
            let values = percent(states(study, &quantity, pair, ALL, &paths));
            match Spread::new(values) {
                Some(spread) => columns.push((i, j, name, history, series, spread, theirs)),
                None => data.gap(format!("`{quantity}` of {pair} with {history} memory")),
            }
        }
    }
    let values = columns.iter().flat_map(|(.., spread, theirs)| {
        spread.numbers().chain(needs(*theirs)).collect::<Vec<f64>>()
    });
    let all: Vec<f64> = values.collect();
    if all.is_empty() {
        return None;
    }
    let axis = names(&LAYERS.map(|(_, name, _)| name));
    let labels = [title, "layer", "difference, %"];
    let mut plot = plot_of(all.into_iter().chain([0.0]), false, labels, axis)?;
    for (i, j, name, history, series, spread, theirs) in &columns {
        let (what, left) = (format!("{name}, {history} memory"), *j as f64 * 0.44 - 0.36);
        spread.record(data, title, &what, "", "%");
        let [dots, middle] = [left, left + 0.14].map(|share| plot.slot(*i, share));
        spread.dots(&mut plot, *series, dots, &what, "%");
        spread.middle(&mut plot, *series, middle, &what, "%");
        if let Some(theirs) = theirs {
            record(data, *theirs, [title, &what, "", "the paper's median", "%"]);
            let x = plot.slot(*i, left + 0.25);
            plot.published(x, theirs.0, theirs.1, "the paper's median", "%");
        }
    }
    Some(plot.finish())
}

/// The difference in updates against what the placement adds where the history kept `W_V` quiet.
fn scatter(data: &mut Data, study: &Study) -> Option<Panel> {
    let title = "Updates against the added gradient of W_V";
    let (pair, ..) = PAIRS[0];
    let mut points = Vec::new();
    for (history, paths, series) in HISTORIES {
        let added = states(study, "added.ratio", pair, "w_v", &paths);
        let moved = percent(states(study, &format!("applied.{PLACEMENT}"), pair, ALL, &paths));
        for (state, ratio) in added.into_iter().filter(|(_, ratio)| *ratio > 0.0) {
            if let Some((_, change)) = moved.iter().find(|(other, _)| *other == state) {
                data.value(title, history, &state, "added.ratio", ratio, "ratio");
                data.value(title, history, &state, "difference", *change, "%");
                points.push((series, state, ratio.log10(), *change));
            }
        }
    }
    if points.is_empty() {
        data.gap("`added.ratio` of w_v".into());
        return None;
    }
    let x = backcut_page::draw::range(points.iter().map(|(_, _, x, _)| *x))?;
    let values = points.iter().map(|(.., change)| *change).chain([0.0]);
    let labels =
        [title, "log10 of the added gradient / sqrt(vhat)", "difference of F_SG and FD, %"];
    let mut plot = plot_of(values, false, labels, Axis::Numbers(x))?;
    for (series, state, ratio, change) in points {
        let (x, y) = (plot.x(ratio), plot.y(change));
        let text = format!("{state}: {}%, ratio {}", number(change), number(10f64.powf(ratio)));
        plot.canvas.mark(series, x, y, false, &text);
    }
    Some(plot.finish())
}
