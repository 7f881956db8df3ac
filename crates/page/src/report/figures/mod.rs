//! The figures: each a function of one study's tables, with its data as CSV.
//!
//! They know no study: arms, conditions, quantities and contrasts are whatever the tables name, in
//! the order in which the tables have them. Every figure shows the values per source behind the
//! means and says in its caption what its intervals are. What can not be shown is named in the
//! caption; a figure of which nothing can be shown is an error.

pub mod curves;
mod endpoints;
mod forest;
mod measurements;
mod quantity;

pub(crate) use endpoints::cells;
pub(crate) use quantity::quantities;

use crate::draw::{Drawing, Palette, Series};

use crate::report::error::ReportError;
use crate::report::results::{Results, Study};

/// Every figure: its name and what it shows.
pub const FIGURES: &[(&str, &str)] = &[
    ("endpoints", "errors at the last update, by arm and condition"),
    ("forest", "every contrast that the study judged, with its interval"),
    ("curves", "learning curves"),
    ("measurements", "what was measured at kept states"),
];

/// Makes a figure of one study; of the only one in the folder if none is named.
pub fn figure(results: &Results, name: &str, study: Option<&str>) -> Result<Drawing, ReportError> {
    let study = results.one(study)?;
    match name {
        "endpoints" => endpoints::draw(results, study),
        "curves" => curves::draw(results, study),
        "forest" => forest::draw(study),
        "measurements" => measurements::draw(results, study),
        _ => Err(ReportError::unknown("figure", name, FIGURES.iter().map(|(name, _)| *name))),
    }
}

impl Results {
    /// A study by name, or the only one.
    pub fn one(&self, name: Option<&str>) -> Result<&Study, ReportError> {
        let names = || self.studies().map(|s| s.name.as_str());
        match name {
            Some(name) => {
                self.study(name).ok_or_else(|| ReportError::unknown("study", name, names()))
            }
            None if self.studies().count() > 1 => {
                Err(ReportError::Several { available: names().collect::<Vec<_>>().join(", ") })
            }
            None => self.studies().next().ok_or_else(|| ReportError::unknown("study", "", [])),
        }
    }

    /// Colours and marks for a study: the same arm has the same on a whole page, unless the page
    /// has more arms than there are marks; then only cuts do.
    pub fn palette(&self, study: &Study) -> Palette {
        let all = Palette::of_arms(self.studies().flat_map(Study::arms_in_order));
        let own = study.arms_in_order();
        if own.iter().all(|arm| all.series(arm) != Series::GREY) {
            return all;
        }
        Palette::of_arms(own)
    }
}

impl Study {
    /// The arms, in the order in which the study names them.
    pub fn arms_in_order(&self) -> Vec<&str> {
        self.arms.iter().map(String::as_str).collect()
    }

    /// What an error is called and measured in.
    pub fn error_words(&self) -> ErrorWords {
        let fact = |key| self.fact(key).filter(|value| !value.is_empty());
        ErrorWords {
            error: fact("error").unwrap_or("error").to_owned(),
            unit: fact("unit").unwrap_or_default().replace("^2", "²").replace("^3", "³"),
        }
    }
}

/// What an error is called, and its unit of measure; empty if the study names none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorWords {
    /// As in "mean squared position error".
    pub error: String,
    /// As in "m²".
    pub unit: String,
}

impl ErrorWords {
    /// The label of an axis, which has no room for more.
    pub fn label(&self) -> String {
        if self.unit.is_empty() { "error".to_owned() } else { format!("error ({})", self.unit) }
    }
}
