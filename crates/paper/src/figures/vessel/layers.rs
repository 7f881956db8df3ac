//! The four-graph interaction through clipping and AdamW, and along training.

use backcut_page::draw::{Drawing, Key, Panel, Series};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_page::report::results::{Results, Study};

use super::super::first_of;
use super::super::quantities::{ALL, INTERACTION, LAYERS};
use super::{PATHS, Spread, Which, names, needs, part, plot_of, record, rows};
use crate::paper::{Paper, Published};

pub const NAME: &str = "vessel-layers";
const CUT: &str = "FF - FD - KF + KD";
/// States before these updates of rollouts, and after how many updates in all.
const TIMES: [(&str, u64); 4] = [("2", 4001), ("200", 4199), ("400", 4399), ("800", 4799)];
const COLOURS: [Series; 3] = [Series::BLUE, Series::ORANGE, Series::VERMILION];

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = results.one(Some(first_of(results, NAME, &["b2"])?))?;
    let mut data = Data::default();
    let panels: Vec<Panel> = [by_layer(&mut data, study, paper), along(&mut data, study, paper)]
        .into_iter()
        .flatten()
        .collect();
    if panels.is_empty() {
        return Err(ReportError::missing(
            NAME,
            format!("study {} holds no interaction", study.name),
        ));
    }
    let layers = LAYERS.iter().zip(COLOURS).map(|((_, name), series)| Key::mark(series, *name));
    Ok(Drawing {
        title: "What clipping and AdamW leave of the interaction (vessel)".into(),
        caption: format!(
            "Study {}: |x_FF - x_FD - x_KF + x_KD| / |x_FF| for gradients, clipped gradients and applied updates at states along \
             four training paths. First panel: before update 800 of rollouts, a small mark per state. Second: medians over states \
             before four updates (the paper's first is before update 1). Large marks: medians, bars from the 16th to the \
             84th percentile; short bars: the paper's medians, of other ships. Descriptive: states of one stream are not \
             independent.{}",
            study.name,
            data.gap_sentence()
        ),
        legend: layers.chain([Key::line(Series::GREY, "the paper's median")]).collect(),
        panels,
        alt: "Four-graph interaction in gradients, clipped gradients and updates, and along training.".into(),
        csv: data.csv(),
    })
}

/// Values of some paths' states at one update.
fn states(study: &Study, layer: &str, paths: &[&str], update: u64) -> Option<Spread> {
    let quantity = format!("{layer}.{INTERACTION}");
    let mut values = Vec::new();
    for arm in paths {
        let which = Which { quantity: &quantity, arm, cut: CUT, update: Some(update) };
        let found = rows(study, which).into_iter().filter(|(row, _)| part(row) == ALL);
        values.extend(found.map(|(row, value)| (format!("{} of {arm}", row.source), value)));
    }
    Spread::new(values)
}

fn published(paper: &Paper, layer: &str, time: &str) -> Option<Published> {
    paper.claim(&format!("B2 interaction, {layer}, {time}"))?.published()
}

fn by_layer(data: &mut Data, study: &Study, paper: &Paper) -> Option<Panel> {
    let title = "Before update 800";
    let (time, update) = TIMES[3];
    let all = |layer: &str| states(study, layer, &PATHS, update);
    let spreads: Vec<Option<Spread>> = LAYERS.iter().map(|(layer, _)| all(layer)).collect();
    let theirs: Vec<Option<Published>> =
        LAYERS.iter().map(|(layer, _)| published(paper, layer, time)).collect();
    let values: Vec<f64> = spreads.iter().flatten().flat_map(Spread::numbers).collect();
    if values.is_empty() {
        return None;
    }
    let values =
        values.into_iter().chain(theirs.iter().flat_map(|theirs| needs(*theirs))).chain([0.0]);
    let along: Vec<&str> = LAYERS.iter().map(|(_, name)| *name).collect();
    let labels = [title, "layer", "|I| / |x_FF|"];
    let mut plot = plot_of(values, false, labels, names(&along))?;
    for (i, (_, name)) in LAYERS.iter().enumerate() {
        let Some(spread) = &spreads[i] else { continue };
        spread.record(data, title, name, "", "ratio");
        let [left, middle] = [-0.14, 0.1].map(|share| plot.slot(i, share));
        spread.dots(&mut plot, COLOURS[i], left, name, "");
        spread.middle(&mut plot, COLOURS[i], middle, name, "");
        if let Some(theirs) = theirs[i] {
            record(data, theirs, [title, name, "", "the paper's median", "ratio"]);
            plot.published(plot.slot(i, 0.24), theirs.0, theirs.1, "the paper's median", "");
        }
    }
    Some(plot.finish())
}

fn along(data: &mut Data, study: &Study, paper: &Paper) -> Option<Panel> {
    let title = "Along training";
    let mut points = Vec::new();
    for (i, (time, update)) in TIMES.into_iter().enumerate() {
        for (j, (layer, name)) in LAYERS.into_iter().enumerate() {
            let Some(spread) = states(study, layer, &PATHS, update) else {
                data.gap(format!("`{layer}.{INTERACTION}` before update {time}"));
                continue;
            };
            spread.record(data, title, name, time, "ratio");
            points.push((i, j, name, spread, published(paper, layer, time)));
        }
    }
    let ends = points.iter().flat_map(|(.., spread, theirs)| {
        spread.middle.into_iter().chain(needs(*theirs)).collect::<Vec<f64>>()
    });
    let all: Vec<f64> = ends.collect();
    if all.is_empty() {
        return None;
    }
    let axis = names(&TIMES.map(|(time, _)| time));
    let labels = [title, "before this update of rollouts", "|I| / |x_FF|"];
    let mut plot = plot_of(all.into_iter().chain([0.0]), false, labels, axis)?;
    for (j, series) in COLOURS.into_iter().enumerate() {
        let own: Vec<_> = points.iter().filter(|(_, layer, ..)| *layer == j).collect();
        let x = |plot: &backcut_page::draw::Plot, i: usize| plot.slot(i, j as f64 * 0.22 - 0.26);
        let places: Vec<(f64, f64)> =
            own.iter().map(|(i, _, _, s, _)| (x(&plot, *i), plot.y(s.median()))).collect();
        plot.canvas.polyline(&format!("s{} line", series.index()), &places, series.dashes());
        for (i, _, name, spread, theirs) in own {
            let at = x(&plot, *i);
            spread.middle(
                &mut plot,
                series,
                at,
                &format!("{name}, before update {}", TIMES[*i].0),
                "",
            );
            if let Some(theirs) = theirs {
                record(data, *theirs, [title, name, TIMES[*i].0, "the paper's median", "ratio"]);
                let what = format!("the paper's median, {name}");
                plot.published(at, theirs.0, theirs.1, &what, "");
            }
        }
    }
    Some(plot.finish())
}
