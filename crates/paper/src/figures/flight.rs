//! The quadrotor itself: one reference, flown by policies that learned under two gradients.

use std::collections::BTreeMap;

use backcut_evidence::tables::UnitState;
use backcut_evidence::tables::rows::Observation;
use backcut_page::draw::{Axis, Drawing, Key, Panel, Plot, PlotSpec, Series, range};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_page::report::results::{Results, Study, in_order};
use backcut_text::format::number;

use super::make::{holding, series_of};
use super::spec::Figure;
use crate::words;

const QUANTITY: &str = "track.value";
const REFERENCE: &str = "reference";
const ARMS: [&str; 2] = ["FF", "F_SG"];
/// Seconds that a mark takes for the whole flight on the page.
const SECONDS: f64 = 6.4;

/// Positions by step.
type Way = Vec<[f64; 3]>;

pub fn draw(results: &Results, figure: &Figure) -> Result<Drawing, ReportError> {
    let study = holding(results, figure)?;
    let missing =
        || ReportError::missing(&figure.name, format!("study {} holds no flight", study.name));
    let source =
        study.measured(QUANTITY).map(|row| row.source.clone()).next().ok_or_else(missing)?;
    let conditions = in_order(study.measured(QUANTITY).map(|row| row.condition.as_str()));
    let flights: Vec<(&str, Vec<(&str, Way)>)> =
        conditions.iter().map(|c| (*c, ways(study, &source, c))).collect();
    let places: Vec<[f64; 3]> =
        flights.iter().flat_map(|(_, ways)| ways).flat_map(|(_, way)| way.clone()).collect();
    let along = |axis: usize| range(places.iter().map(move |p| p[axis])).ok_or_else(missing);
    let sides = [along(0)?, along(1)?];
    let mut data = Data::default();
    let mut panels: Vec<Panel> = Vec::new();
    for (condition, ways) in &flights {
        panels.push(from_above(&mut data, condition, ways, sides));
    }
    let gaps: Vec<f64> =
        flights.iter().flat_map(|(_, ways)| distances(ways)).flat_map(|d| d.1).collect();
    let gap = range(gaps.into_iter().chain([0.0])).ok_or_else(missing)?;
    for (condition, ways) in &flights {
        panels.push(off_course(&mut data, condition, ways, gap));
    }
    let legend = [Key::line(Series::GREY, "the reference")].into_iter();
    Ok(Drawing {
        title: "One reference, flown by policies of two gradients".into(),
        caption: format!(
            "Study {}, source {source}, the first trajectory of the evaluation panel: neither was \
             chosen for what it shows. Above: the flight seen from above, in metres; a mark moves \
             along each way on the page (a click stops it). Below: the distance from the reference \
             in three dimensions. Both policies fly from the same start through the same noise; \
             they differ in the gradient that they learned from. One flight is a picture, not \
             evidence.{}",
            study.name,
            data.gap_sentence()
        ),
        legend: legend.chain(ARMS.map(|arm| Key::mark(series_of(arm), arm))).collect(),
        panels,
        alt: "The way of a quadrotor beside its reference, seen from above, and its distance from \
              it by step."
            .into(),
        csv: data.csv(),
    })
}

/// The reference and the ways of both policies under a condition, as far as they were recorded.
fn ways<'a>(study: &Study, source: &str, condition: &str) -> Vec<(&'a str, Way)> {
    let of = |arm: &str| -> BTreeMap<&str, f64> {
        let is_meant = |arm: &str, row: &&Observation| {
            row.arm == arm
                && row.source == source
                && row.condition == condition
                && row.state == UnitState::Done
        };
        let rows = study.measured(QUANTITY).filter(|row| is_meant(arm, row));
        rows.filter_map(|row| Some((row.part.as_deref()?, row.value?))).collect()
    };
    let way = |held: &BTreeMap<&str, f64>, value: &str| -> Way {
        let at = |t, column| held.get(part(value, column, t).as_str()).copied();
        (0..).map_while(|t| Some([at(t, 0)?, at(t, 1)?, at(t, 2)?])).collect()
    };
    let held = ARMS.map(|arm| (arm, of(arm)));
    let reference = held.iter().map(|(_, held)| way(held, "target")).find(|way| !way.is_empty());
    let reference = reference.map(|way| (REFERENCE, way));
    let flown = held.iter().map(|(arm, held)| (*arm, way(held, "next_state")));
    reference.into_iter().chain(flown.filter(|(_, way)| !way.is_empty())).collect()
}

/// The part of a track's row: a column of a value of the panel's first trajectory, at a step.
fn part(value: &str, column: usize, step: usize) -> String {
    format!("{value}[{column}], row 0, t={step}")
}

/// Distances from the reference, by policy.
fn distances<'a>(ways: &[(&'a str, Way)]) -> Vec<(&'a str, Vec<f64>)> {
    let Some(((_, reference), flown)) = ways.split_first() else { return Vec::new() };
    let apart = |a: &[f64; 3], b: &[f64; 3]| {
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    };
    let of_way = |way: &Way| way.iter().zip(reference).map(|(a, b)| apart(a, b)).collect();
    flown.iter().map(|(arm, way)| (*arm, of_way(way))).collect()
}

fn from_above(
    data: &mut Data,
    condition: &str,
    ways: &[(&str, Way)],
    [x, y]: [[f64; 2]; 2],
) -> Panel {
    let title = words::velocity(condition);
    let spec = PlotSpec {
        title: &title,
        x: Axis::Numbers(x),
        x_label: "east (m)",
        y,
        y_is_log: false,
        y_label: "north (m)",
        height: 270.0,
    };
    let mut plot = Plot::to_scale(&spec);
    for (name, way) in ways {
        let series = if *name == REFERENCE { Series::GREY } else { series_of(name) };
        let places: Vec<(f64, f64)> = way.iter().map(|p| (plot.x(p[0]), plot.y(p[1]))).collect();
        plot.canvas.polyline(&format!("s{} line", series.index()), &places, series.dashes());
        if *name != REFERENCE {
            plot.canvas.mover(series, &places, SECONDS);
        }
        for (t, place) in way.iter().enumerate() {
            for (axis, value) in ["x", "y", "z"].into_iter().zip(place) {
                data.value(&format!("{axis}, step {}", t + 1), name, condition, "", *value, "m");
            }
        }
    }
    plot.finish()
}

fn off_course(data: &mut Data, condition: &str, ways: &[(&str, Way)], y: [f64; 2]) -> Panel {
    let all = distances(ways);
    let last = all.iter().map(|(_, far)| far.len()).max().unwrap_or(1);
    let title = format!("{}: distance", words::velocity(condition));
    let mut plot = Plot::new(&PlotSpec {
        title: &title,
        x: Axis::Numbers([1.0, last.max(2) as f64]),
        x_label: "step",
        y,
        y_is_log: false,
        y_label: "distance (m)",
        height: 210.0,
    });
    for (arm, far) in &all {
        let series = series_of(arm);
        let place = |(t, far): (usize, &f64)| (plot.x((t + 1) as f64), plot.y(*far));
        let places: Vec<(f64, f64)> = far.iter().enumerate().map(place).collect();
        let word =
            |(t, far): (usize, &f64)| (format!("step {}", t + 1), format!("{} m", number(*far)));
        let values: Vec<(String, String)> = far.iter().enumerate().map(word).collect();
        let class = format!("s{} line", series.index());
        plot.canvas.curve(&class, &places, series.dashes(), arm, &values);
        for (t, far) in far.iter().enumerate() {
            data.value(&format!("distance, step {}", t + 1), arm, condition, "", *far, "m");
        }
        if let (Some((x, y)), Some(far)) = (places.last(), far.last()) {
            plot.canvas.mark(
                series,
                *x,
                *y,
                false,
                &format!("{arm}, last step: {} m", number(*far)),
            );
        }
    }
    plot.finish()
}
