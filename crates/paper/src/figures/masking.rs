//! What masking history at evaluation costs policies that were trained with it.

use super::quantities::MASKING;
use super::{by_noise, common_scale, first_of, series_of};
use backcut_page::draw::{Axis, Drawing, Key, Plot, PlotSpec};
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Pick;
use backcut_page::report::results::{Results, Study};
use backcut_page::report::{ReportError, ShowEstimate as _};

use crate::words;

const NAME: &str = "masking";
const ARMS: [(&str, &str); 3] =
    [("FF", "FF"), ("F_SG", "F_SG from the start"), ("F_SG_cont", "F_SG from update 800")];

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["c7"])?;
    let mut data = Data::default();
    let mut panels = Vec::new();
    let conditions = results.study(study).map(measured_conditions).unwrap_or_default();
    let mut found = Vec::new();
    for (part, title) in [("w=1", "History masked, window 1"), ("w=2", "History masked, window 2")]
    {
        let mut estimates = Vec::new();
        for (i, condition) in conditions.iter().enumerate() {
            for (j, (arm, label)) in ARMS.iter().enumerate() {
                let pick =
                    Pick { quantity: MASKING, arm: Some(arm), part: Some(part), ..Pick::default() };
                let values = results.measured(study, pick, condition);
                if values.is_empty() {
                    data.gap(format!("{label} at {}", words::condition(condition)));
                    continue;
                }
                let e = results.from_values(values.into_iter().collect(), Vec::new()).scaled(100.0);
                data.estimate(title, label, condition, &e, "%");
                estimates.push((i, j, e));
            }
        }
        found.push((title, estimates));
    }
    let scale = common_scale(found.iter().flat_map(|(_, all)| all.iter().map(|(_, _, e)| e)));
    for (title, estimates) in found {
        let Some(y) = scale.filter(|_| !estimates.is_empty()) else { continue };
        let mut plot = Plot::new(&PlotSpec {
            title,
            x: Axis::Names(conditions.clone()),
            x_label: "velocity noise (m/s)",
            y,
            y_is_log: false,
            y_label: "change of the error (%)",
            height: 250.0,
        });
        for (i, j, e) in &estimates {
            let (arm, label) = ARMS[*j];
            let x = plot.slot(*i, *j as f64 * 0.28 - 0.28);
            let what = format!("{label}, {}", words::condition(&conditions[*i]));
            plot.estimate(series_of(arm), x, e, &what, "%", false);
        }
        panels.push(plot.finish());
    }
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, format!("{study} holds no `{MASKING}`")));
    }
    Ok(Drawing {
        title: "How much a trained policy uses its history".into(),
        caption: format!(
            "Study c7: change of the evaluation error when each layer reads only the last one or two \
             positions, parameters unchanged; per trajectory, averaged per seed. Means with pointwise 95% \
             source-bootstrap intervals, single sources behind them; both panels have one scale; post hoc.{}",
            data.gap_sentence()
        ),
        legend: ARMS.iter().map(|(arm, label)| Key::mark(series_of(arm), *label)).collect(),
        panels,
        alt: "Relative change of the evaluation error when history is masked, by velocity noise and training.".into(),
        csv: data.csv(),
    })
}

fn measured_conditions(study: &Study) -> Vec<String> {
    let rows = study.measured(MASKING);
    let mut conditions: Vec<String> = rows.map(|row| row.condition.clone()).collect();
    by_noise(&mut conditions);
    conditions
}
