//! What clip and AdamW make of differences between graphs: interaction and placement by layer.

use super::holding;
use super::quantities::{ALL, CLIP_FACTOR, CLIPPED, INTERACTION, LAYERS, PLACEMENT};
use backcut_page::draw::{Axis, Drawing, Key, Plot, PlotSpec, Series, range};
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Pick;
use backcut_page::report::results::{Results, Study};
use backcut_page::report::{ReportError, ShowEstimate as _};

const NAME: &str = "updates";

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let of_layer = |quantity: &str| format!("{}.{quantity}", LAYERS[0].0);
    let wanted = [of_layer(INTERACTION), of_layer(PLACEMENT)];
    let study = holding(results, NAME, &wanted)?;
    let clip = Clip::of(study);
    let layers: Vec<(&str, &str)> =
        LAYERS.into_iter().filter(|(layer, _)| *layer != CLIPPED || clip.acted > 0).collect();
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
            &[("F_SG - FD", Series::VERMILION), ("K_SG - KD", Series::VERMILION.relative(1))][..],
        ),
    ] {
        let mut estimates = Vec::new();
        for (i, (layer, _)) in layers.iter().enumerate() {
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
                    study.measurements().map(|row| row.condition.as_str()).collect();
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
            x: Axis::Names(layers.iter().map(|(_, name)| (*name).to_owned()).collect()),
            x_label: "layer",
            y,
            y_is_log: false,
            y_label: "relative size",
            height: 220.0,
        });
        for (i, j, e) in &estimates {
            let (cut, series) = cuts[*j];
            let x = plot.slot(*i, *j as f64 * 0.3 - 0.15 * (cuts.len() - 1) as f64);
            plot.estimate(series, x, e, &format!("{cut}, {}", layers[*i].1), "", false);
        }
        panels.push(plot.finish());
    }
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, data.gaps.join("; ")));
    }
    Ok(Drawing {
        title: "What the optimizer makes of a difference".into(),
        caption: format!(
            "Study {}: relative differences between backward graphs at matched states, from the raw gradient to the \
             update that AdamW applies. {} Every state is a point, the large mark their \
             mean; no intervals, because states of one seed are not independent. Descriptive. The paper's figure is \
             of its vessel model; this is the quadrotor.{}",
            study.name,
            clip.words(),
            data.gap_sentence()
        ),
        legend: vec![
            Key::mark(Series::BLUE, "FF - FD - KF + KD"),
            Key::mark(Series::VERMILION, "F_SG - FD"),
            Key::mark(Series::VERMILION.relative(1), "K_SG - KD"),
        ],
        panels,
        alt: "Four-graph interaction and placement difference in gradients, clipped gradients and updates.".into(),
        csv: data.csv(),
    })
}

/// Where the global-norm clip acted.
struct Clip {
    /// Gradients that it scaled down.
    acted: usize,
    /// Gradients that it saw.
    of: usize,
    /// Conditions in which it acted.
    conditions: Vec<String>,
}

impl Clip {
    fn of(study: &Study) -> Self {
        let factors = || study.measured(CLIP_FACTOR).filter_map(|row| Some((row, row.value?)));
        let acted = || factors().filter(|(_, factor)| *factor < 1.0);
        let mut conditions = acted().map(|(row, _)| row.condition.clone()).collect();
        super::by_noise(&mut conditions);
        Self { acted: acted().count(), of: factors().count(), conditions }
    }

    fn words(&self) -> String {
        match (self.acted, self.of) {
            (_, 0) => "Where the global-norm clip acted was not stored.".to_owned(),
            (0, of) => format!(
                "The global-norm clip acted on none of {of} gradients, so the clipped gradient is the gradient and has no \
                 column."
            ),
            (acted, of) => format!(
                "The global-norm clip acted on {acted} of {of} gradients (at {}).",
                self.conditions.join(", ")
            ),
        }
    }
}
