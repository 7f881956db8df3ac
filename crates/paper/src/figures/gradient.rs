//! What a memory cut does to the gradient, under full and one-step physical credit.

use super::quantities::{ALL, GRADIENT_COSINE, GRADIENT_DIFFERENCE, GRADIENT_RATIO};
use super::{by_noise, holding, series_of};
use backcut_page::draw::{Axis, Drawing, Key, Plot, PlotSpec, range};
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Pick;
use backcut_page::report::results::Results;
use backcut_page::report::{ReportError, ShowEstimate as _};

const NAME: &str = "gradient";

/// Cuts, what they are compared with and whose colour they have: under full credit FF, under one-step credit KF.
const CUTS: [(&str, &str, &str); 4] = [
    ("FD", "FD vs FF", "FD"),
    ("F_SG", "F_SG vs FF", "F_SG"),
    ("KD vs KF", "KD vs KF", "KD"),
    ("K_SG vs KF", "K_SG vs KF", "K_SG"),
];

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let study = holding(results, NAME, &[GRADIENT_DIFFERENCE.to_owned()])?;
    let mut conditions: Vec<String> =
        study.measured(GRADIENT_DIFFERENCE).map(|row| row.condition.clone()).collect();
    by_noise(&mut conditions);
    let mut data = Data::default();
    let mut panels = Vec::new();
    for (quantity, title, label) in [
        (GRADIENT_DIFFERENCE, "Relative difference", "difference |g - g_ref| / |g_ref|"),
        (GRADIENT_RATIO, "Ratio of norms", "ratio |g| / |g_ref|"),
        (GRADIENT_COSINE, "Cosine", "cosine with g_ref"),
    ] {
        let mut estimates = Vec::new();
        for (i, condition) in conditions.iter().enumerate() {
            for (j, (cut, name, _)) in CUTS.iter().enumerate() {
                let pick = Pick { quantity, cut: Some(cut), part: Some(ALL), ..Pick::default() };
                let values = results.measured(&study.name, pick, condition);
                if values.is_empty() {
                    continue;
                }
                let e = results.from_values(values.into_iter().collect(), Vec::new());
                data.estimate(title, name, condition, &e, "ratio");
                estimates.push((i, j, e));
            }
        }
        let values = estimates.iter().flat_map(|(_, _, e)| e.values.iter().map(|(_, v)| *v));
        let Some(y) = range(values) else { continue };
        let mut plot = Plot::new(&PlotSpec {
            title,
            x: Axis::Names(conditions.clone()),
            x_label: "velocity noise (m/s)",
            y,
            y_is_log: false,
            y_label: label,
            height: 220.0,
        });
        for (i, j, e) in &estimates {
            let (_, name, arm) = CUTS[*j];
            let x = plot.slot(*i, *j as f64 * 0.22 - 0.33);
            plot.estimate(series_of(arm), x, e, &format!("{name}, {}", conditions[*i]), "", false);
        }
        panels.push(plot.finish());
    }
    Ok(Drawing {
        title: "The memory cut in gradient space".into(),
        caption: format!(
            "Study {}: gradients of one batch at matched states, each cut against full memory credit under the same \
             physical credit. Means over sources with pointwise 95% source-bootstrap intervals; descriptive. The \
             paper's figure is of its vessel model; this is the quadrotor.{}",
            study.name,
            data.gap_sentence()
        ),
        legend: CUTS.iter().map(|(_, name, arm)| Key::mark(series_of(arm), *name)).collect(),
        panels,
        alt: "Relative difference, ratio of norms and cosine of gradients under memory cuts."
            .into(),
        csv: data.csv(),
    })
}
