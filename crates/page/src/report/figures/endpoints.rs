//! Errors at the last update, by arm and condition.

use crate::draw::{Drawing, Key, range};
use backcut_text::capital;

use crate::report::chart::{Chart, Group, Point};
use crate::report::data::Data;
use crate::report::error::ReportError;
use crate::report::estimate::Estimate;
use crate::report::results::{Results, Study, distinct};

const NAME: &str = "endpoints";

/// Most means side by side in one panel.
const MEANS: usize = 18;

/// A logarithmic scale from this ratio between the largest and the smallest value on.
const RATIO: f64 = 20.0;

/// The mean of every cell, by condition and arm.
pub fn cells<'s>(results: &Results, study: &'s Study) -> Vec<(&'s str, &'s str, Estimate)> {
    let mut cells = Vec::new();
    for condition in study.conditions() {
        for arm in study.arms_in_order() {
            let Some(cell) = results.cell(&study.name, arm, condition) else { continue };
            let values = cell.iter().filter_map(|(s, v)| Some((s.clone(), (*v)?))).collect();
            let missing = cell.iter().filter(|(_, v)| v.is_none()).map(|(s, _)| s.clone());
            cells.push((condition, arm, results.from_values(values, missing.collect())));
        }
    }
    cells
}

pub(super) fn draw(results: &Results, study: &Study) -> Result<Drawing, ReportError> {
    let cells = cells(results, study);
    let arms: Vec<&str> = distinct(cells.iter().map(|(_, arm, _)| *arm));
    let conditions: Vec<&str> = distinct(cells.iter().map(|(condition, ..)| *condition));
    if cells.is_empty() {
        let why = format!("no trained unit of {} is done", study.name);
        return Err(ReportError::missing(NAME, why));
    }
    let (palette, words) = (results.palette(study), study.error_words());
    let mut data = Data::default();
    for condition in study.conditions() {
        for arm in study.arms_in_order() {
            let is_planned = study.endpoints().any(|r| r.arm == arm && r.condition == condition);
            if is_planned && !cells.iter().any(|(c, a, _)| (*c, *a) == (condition, arm)) {
                data.gap(format!("{arm} at {condition}, of which no unit is done"));
            }
        }
    }
    let values = || cells.iter().flat_map(|(.., e)| e.values.iter().map(|(_, v)| *v));
    let (low, high) =
        values().fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    let y_is_log = low > 0.0 && high / low > RATIO;
    let y = range(values().map(|v| if y_is_log { v.log10() } else { v })).unwrap_or([0.0, 1.0]);
    let scale = if y_is_log { ", logarithmic" } else { "" };
    let y_label = words.label() + scale;
    let mut panels = Vec::new();
    for shown in conditions.chunks((MEANS / arms.len()).max(1)) {
        let title = match shown {
            [condition] => (*condition).to_owned(),
            _ => capital(&words.error),
        };
        for (condition, arm, e) in cells.iter().filter(|(c, ..)| shown.contains(c)) {
            data.estimate(&title, arm, condition, e, &words.unit);
        }
        let group = |arm: &&str| {
            let place = |condition: &str| shown.iter().position(|c| *c == condition);
            let of_arm = cells.iter().filter(|(_, other, _)| other == arm);
            let point = |(condition, _, e): &(&str, &str, Estimate)| {
                Some(Point::mean(place(condition)?, e, format!("{arm} at {condition}")))
            };
            Group::new(palette.series(arm), arm, of_arm.filter_map(point).collect())
        };
        let chart = Chart {
            title,
            names: shown.iter().map(|c| (*c).to_owned()).collect(),
            x_label: "condition".to_owned(),
            y_label: y_label.clone(),
            unit: words.unit.clone(),
            height: 250.0,
            log: y_is_log,
            groups: arms.iter().map(group).collect(),
            ..Chart::default()
        };
        panels.extend(chart.panel(Some(y)));
    }
    Ok(Drawing {
        title: format!("Endpoints of {}", study.name),
        caption: format!(
            "{} at the last update of every arm. Large marks: means over sources, with pointwise \
             95% source-bootstrap intervals (descriptive) from four sources on; small marks: \
             single sources. Arms of one source share its random numbers, so differences between \
             arms are better judged by contrasts than by these intervals.{}",
            capital(&words.error),
            data.gap_sentence()
        ),
        legend: arms.iter().map(|arm| Key::mark(palette.series(arm), *arm)).collect(),
        panels,
        alt: "Errors at the last update by arm and condition, with single sources.".into(),
        csv: data.csv(),
    })
}
