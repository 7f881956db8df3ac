//! The figures: each a function of the tables, with its data as CSV.
//!
//! Every figure shows the values per source behind the means and says in its caption what its
//! intervals are. A figure whose study is missing is an error that says which; a page then shows the sentence in
//! its place. Arms or conditions that are missing are left out and named in the caption.

mod curves;
mod data;
pub mod design;
mod gradient;
mod intervention;
mod masking;
mod memory_value;
mod noninferiority;
pub mod quantities;
mod segments;
mod seven_point;
mod three_layers;
mod updates;
mod warm_change;

use crate::error::ReportError;
use crate::results::Results;
use crate::svg::Drawing;

/// A finished figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    /// A drawing that stands alone, in the light theme's colours.
    pub svg: String,
    /// Its data.
    pub csv: String,
    /// The same in words.
    pub alt: String,
    /// The title.
    pub title: String,
    /// What is shown and how to read it.
    pub caption: String,
}

/// Every figure: its name and what it shows.
pub const FIGURES: &[(&str, &str)] = &[
    ("memory-value", "value of memory and cost of the cut, by condition"),
    ("segments", "cost by segment length, with the value of memory as lines"),
    ("curves", "learning curves, with the branch at update 800"),
    ("seven-point", "excess over FF at seven noise levels, on two streams"),
    ("warm-change", "change of each arm against its warm start"),
    ("noninferiority", "excess of every seed at 0.05 m/s against the 5% margin"),
    ("three-layers", "gradient, update and learning differences against noise"),
    ("masking", "what masking history at evaluation costs"),
    ("intervention", "velocity-input weights and the cost of another's history"),
    ("gradient", "what a memory cut does to the gradient"),
    ("updates", "interaction and placement through clip and AdamW"),
    ("design", "which derivative edges live under each cut"),
];

/// Makes a figure.
pub fn figure(results: &Results, name: &str) -> Result<Figure, ReportError> {
    let drawing = draw(results, name)?;
    Ok(Figure {
        svg: drawing.svg(),
        csv: drawing.csv,
        alt: drawing.alt,
        title: drawing.title,
        caption: drawing.caption,
    })
}

pub(crate) fn draw(results: &Results, name: &str) -> Result<Drawing, ReportError> {
    match name {
        "memory-value" => memory_value::draw(results),
        "segments" => segments::draw(results),
        "curves" => curves::draw(results),
        "seven-point" => seven_point::draw(results),
        "warm-change" => warm_change::draw(results),
        "noninferiority" => noninferiority::draw(results),
        "three-layers" => three_layers::draw(results),
        "masking" => masking::draw(results),
        "intervention" => intervention::draw(results),
        "gradient" => gradient::draw(results),
        "updates" => updates::draw(results),
        "design" => design::draw(results),
        _ => Err(ReportError::Unknown {
            what: "figure",
            name: name.to_owned(),
            available: FIGURES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        }),
    }
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

/// The relative excess of an arm over FF.
fn excess(arm: &str, condition: &str) -> String {
    format!("([{arm}@{condition}] - [FF@{condition}]) / [FF@{condition}]")
}
