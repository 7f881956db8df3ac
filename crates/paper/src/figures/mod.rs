//! The paper's figures, each a function of our tables and, where it publishes means, of the paper's values.
//!
//! Every figure shows the values per source behind the means and says in its caption what its
//! intervals are. A figure whose study is missing is an error that says which; a page then shows the sentence in
//! its place. Arms or conditions that are missing are left out and named in the caption.

mod ages;
pub(crate) mod agreement;
mod branch;
mod calibration;
pub mod design;
mod flight;
mod gradient;
mod intervention;
mod masking;
mod memory_value;
mod multiverse;
mod noninferiority;
pub mod quantities;
mod segments;
mod seven_point;
mod thesis;
mod three_layers;
mod updates;
mod vessel;
mod warm_change;

use backcut_page::draw::{Drawing, Palette, Series, range};
use backcut_page::report::estimate::Estimate;
use backcut_page::report::results::Study;
use backcut_page::report::{ReportError, Results};

use crate::Reproduction;

/// Every figure: its name and what it shows.
pub const FIGURES: &[(&str, &str)] = &[
    ("memory-value", "value of memory and cost of the cut, by condition"),
    ("thesis", "value of memory against cost of the cut, with the diagonal"),
    ("agreement", "ours and the paper's, claim by claim"),
    ("flight", "one reference, flown by policies of two gradients"),
    ("segments", "cost by segment length, with the value of memory as lines"),
    ("branch", "learning curves, with the branch at update 800"),
    ("seven-point", "excess over FF at seven noise levels, on two streams"),
    ("warm-change", "change of each arm against its warm start"),
    ("noninferiority", "excess of every seed at 0.05 m/s against the 5% margin"),
    ("three-layers", "gradient, update and learning differences against noise"),
    ("masking", "what masking history at evaluation costs"),
    ("intervention", "velocity-input weights and the cost of another's history"),
    ("attention", "attention of trained policies by age"),
    ("gradient", "what a memory cut does to the gradient"),
    ("gradient-ages", "the gradient by age, at trained policies"),
    ("updates", "interaction and placement through clip and AdamW"),
    ("calibration", "candidate configurations by published cells without a cut"),
    ("multiverse", "core claims under every choice that nobody published"),
    ("design", "which derivative edges live under each cut"),
    ("vessel-gradient", "the memory cut in gradients of single windows (vessel)"),
    ("vessel-chain", "gains of the physical chain by lag (vessel)"),
    ("vessel-ages", "the gradient by age, and its sum up to each age (vessel)"),
    ("vessel-layers", "four-graph interaction by layer and along training (vessel)"),
    ("vessel-placement", "F_SG against FD in gradients and updates (vessel)"),
    ("vessel-learning", "four graphs after 400 and 800 updates, by stream (vessel)"),
    ("vessel-horizon", "error along the horizon beside constant velocity (vessel)"),
    ("vessel-noise", "the cost of F_SG by observation noise (vessel)"),
];

/// Whether a figure is about the vessel.
pub fn is_of_the_vessel(name: &str) -> bool {
    name.starts_with("vessel-")
}

impl Reproduction {
    /// Makes a figure: of the second programme's tables where they have what it shows, else of the first one's.
    pub fn figure(&self, name: &str) -> Result<Drawing, ReportError> {
        let Some(second) = &self.second else { return self.figure_of(&self.results, name) };
        let is_of_both = ["agreement", "design", "calibration", "multiverse"].contains(&name);
        if is_of_both || is_of_the_vessel(name) {
            return self.figure_of(&self.results, name);
        }
        let made = self.figure_of(second, name).map(|drawing| (drawing, self.column(1)));
        let first = || Ok((self.figure_of(&self.results, name)?, self.column(0)));
        made.or_else(|_: ReportError| first()).map(|(mut drawing, programme)| {
            drawing.caption = format!("From the {programme}. {}", drawing.caption);
            drawing
        })
    }

    fn figure_of(&self, results: &Results, name: &str) -> Result<Drawing, ReportError> {
        match name {
            "memory-value" => memory_value::draw(results, &self.paper),
            "thesis" => thesis::draw(results, &self.paper),
            "agreement" => agreement::draw(self),
            "segments" => segments::draw(results, &self.paper),
            "branch" => branch::draw(results),
            "seven-point" => seven_point::draw(results),
            "warm-change" => warm_change::draw(results),
            "noninferiority" => noninferiority::draw(results),
            "three-layers" => three_layers::draw(results),
            "masking" => masking::draw(results),
            "intervention" => intervention::draw(results),
            "flight" => flight::draw(results),
            "attention" => ages::attention(results),
            "gradient" => gradient::draw(results),
            "gradient-ages" => ages::gradient(results),
            "updates" => updates::draw(results),
            "calibration" => calibration::draw(self.holding(crate::calibration::STUDY)),
            "multiverse" => multiverse::draw(self.holding(crate::multiverse::STUDY)),
            "design" => design::draw(&self.design),
            _ => self.vessel_figure(name).unwrap_or_else(|| {
                let known = FIGURES.iter().map(|(name, _)| *name);
                Err(ReportError::unknown("figure", name, known))
            }),
        }
    }
}

impl Reproduction {
    /// The first of the programmes that holds a study; the first programme if none does.
    pub(crate) fn holding(&self, study: &str) -> &Results {
        self.programmes().find(|results| results.study(study).is_some()).unwrap_or(&self.results)
    }
}

/// The series of an arm, the same in every figure; the second stream's arms are the first's.
fn series_of(arm: &str) -> Series {
    match arm.strip_suffix("_b").unwrap_or(arm) {
        "w1" => Series::GREEN,
        "w2" => Series::ORANGE,
        // The same cut, later: the same colour with another mark.
        "F_SG_cont" => Series::VERMILION.relative(3),
        cut => Palette::of_cut(cut).unwrap_or(Series::GREY),
    }
}

/// A scale that holds the values of some estimates and zero, for panels that are compared.
fn common_scale<'e>(estimates: impl IntoIterator<Item = &'e Estimate>) -> Option<[f64; 2]> {
    let mut values = estimates
        .into_iter()
        .flat_map(|e| {
            let ends = e.interval.into_iter().flatten().chain([e.mean]);
            e.values.iter().map(|(_, v)| *v).chain(ends).collect::<Vec<f64>>()
        })
        .peekable();
    values.peek()?;
    range(values.chain([0.0]))
}

/// Conditions by their noise, those that are no number last.
fn by_noise(conditions: &mut Vec<String>) {
    let place = |c: &str| c.parse::<f64>().unwrap_or(f64::INFINITY);
    conditions.sort_by(|a, b| place(a).total_cmp(&place(b)).then(a.cmp(b)));
    conditions.dedup();
}

/// The first of some studies that was collected.
fn first_of<'a>(
    results: &Results,
    name: &str,
    studies: &[&'a str],
) -> Result<&'a str, ReportError> {
    studies.iter().copied().find(|s| results.study(s).is_some()).ok_or_else(|| {
        ReportError::missing(name, format!("study {} was not collected", studies.join(" or ")))
    })
}

/// The first study of the quadrotor that holds one of some quantities.
fn holding<'r>(
    results: &'r Results,
    name: &str,
    quantities: &[String],
) -> Result<&'r Study, ReportError> {
    let holds = |study: &&Study| quantities.iter().any(|q| study.measured(q).next().is_some());
    let is_other = |study: &&Study| !vessel::STUDIES.contains(&study.name.as_str());
    results.studies().filter(is_other).find(holds).ok_or_else(|| {
        let why = format!("no collected study holds `{}`", quantities.join("` or `"));
        ReportError::missing(name, why)
    })
}

/// The relative excess of an arm over FF.
pub(crate) fn excess(arm: &str, condition: &str) -> String {
    format!("([{arm}@{condition}] - [FF@{condition}]) / [FF@{condition}]")
}
