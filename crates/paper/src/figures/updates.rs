//! What clip and AdamW make of differences between graphs: interaction and placement by layer.

use super::holding;
use super::quantities::{ALL, INTERACTION, LAYERS, PLACEMENT};
use backcut_draw::{Axis, Drawing, Key, Plot, PlotSpec, Series, range};
use backcut_report::data::Data;
use backcut_report::estimate::Pick;
use backcut_report::results::Results;
use backcut_report::{ReportError, ShowEstimate as _};

const NAME: &str = "updates";

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let of_layer = |quantity: &str| format!("{}.{quantity}", LAYERS[0].0);
    let wanted = [of_layer(INTERACTION), of_layer(PLACEMENT)];
    let study = holding(results, NAME, &wanted)?;
    let mut data = Data::default();
    let mut panels = Vec::new();
    for (quantity, title, cuts) in [
        (
            INTERACTION,
            "Four-graph interaction |I| / |x_FF|",
            &[("FF - FD - KF + KD", Series::BLUE)][..],
        ),
        (
            PLACEMENT,
            "Placement: difference of F_SG and FD",
            &[("F_SG - FD", Series::VERMILION), ("K_SG - KD", Series::ORANGE)][..],
        ),
    ] {
        let mut estimates = Vec::new();
        for (i, (layer, _)) in LAYERS.iter().enumerate() {
            for (j, (cut, _)) in cuts.iter().enumerate() {
                let quantity = format!("{layer}.{quantity}");
                let pick = Pick {
                    quantity: &quantity,
                    cut: Some(cut),
                    part: Some(ALL),
                    ..Pick::default()
                };
                let mut values: Vec<(String, f64)> = Vec::new();
                let mut conditions: Vec<&str> =
                    study.measurements.iter().map(|row| row.condition.as_str()).collect();
                conditions.sort_unstable();
                conditions.dedup();
                for condition in conditions {
                    let found = results.measured(&study.name, pick, condition);
                    values
                        .extend(found.into_iter().map(|(s, v)| (format!("{s} at {condition}"), v)));
                }
                if values.is_empty() {
                    data.gap(format!("`{quantity}` of {cut}"));
                    continue;
                }
                // States of one seed are not independent: points and a mean, no interval.
                let mut e = results.from_values(values, Vec::new());
                e.interval = None;
                data.estimate(title, cut, layer, &e, "ratio");
                estimates.push((i, j, e));
            }
        }
        let values = estimates.iter().flat_map(|(_, _, e)| e.values.iter().map(|(_, v)| *v));
        let Some(y) = range(values.chain([0.0])).filter(|_| !estimates.is_empty()) else {
            continue;
        };
        let mut plot = Plot::new(&PlotSpec {
            title,
            x: Axis::Names(LAYERS.iter().map(|(_, name)| (*name).to_owned()).collect()),
            x_label: "layer",
            y,
            y_is_log: false,
            y_label: "relative size",
            height: 220.0,
        });
        for (i, j, e) in &estimates {
            let (cut, series) = cuts[*j];
            let x = plot.slot(*i, *j as f64 * 0.3 - 0.15 * (cuts.len() - 1) as f64);
            plot.estimate(series, x, e, &format!("{cut}, {}", LAYERS[*i].1), "", false);
        }
        panels.push(plot.finish());
    }
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, data.gaps.join("; ")));
    }
    Ok(Drawing {
        title: "What the optimizer makes of a difference".into(),
        caption: format!(
            "Study {}: relative differences between backward graphs at matched states, in the raw gradient, after the \
             global-norm clip, and in the update that AdamW applies. Every state is a point, the large mark their \
             mean; no intervals, because states of one seed are not independent. Descriptive. The paper's figure is \
             of its vessel model; this is the quadrotor.{}",
            study.name,
            data.gap_sentence()
        ),
        legend: vec![
            Key::mark(Series::BLUE, "FF - FD - KF + KD"),
            Key::mark(Series::VERMILION, "F_SG - FD"),
            Key::mark(Series::ORANGE, "K_SG - KD"),
        ],
        panels,
        alt: "Four-graph interaction and placement difference in gradients, clipped gradients and updates.".into(),
        csv: data.csv(),
    })
}
