//! The paper's figures: `figures.toml` describes them, and each is a function of our tables and, where it
//! publishes means, of the paper's values.
//!
//! Most are panels of answers to one question, by series and by what runs along the bottom ([`make`]). What is
//! one of a kind has code of its own ([`CODED`]): a design, a flight, a cloud with a diagonal, two grids, rows of
//! claims. A figure whose study is missing is an error that says which; a page then shows the sentence in its
//! place. Arms or conditions that are missing are left out and named in the caption.

mod agreement;
mod ask;
mod branch;
mod calibration;
pub mod design;
mod flight;
mod make;
mod multiverse;
mod noninferiority;
mod spec;
mod thesis;

use std::sync::LazyLock;

use backcut_page::draw::Drawing;
use backcut_page::report::{ReportError, Results};

use crate::beside::Reproduction;
pub use spec::{Figure, Place, figures};

/// Every figure: its name and what it shows.
pub static FIGURES: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| figures().iter().map(|f| (f.name.as_str(), f.what.as_str())).collect());

/// Draws a figure from one programme's results.
type Draw = fn(&Reproduction, &Results, &Figure) -> Result<Drawing, ReportError>;

/// Figures that are one of a kind.
const CODED: [(&str, Draw); 8] = [
    ("thesis", |beside, results, figure| thesis::draw(results, &beside.paper, figure)),
    ("agreement", |beside, _, _| agreement::draw(beside)),
    ("flight", |_, results, figure| flight::draw(results, figure)),
    ("branch", |_, results, figure| branch::draw(results, figure)),
    ("noninferiority", |_, results, figure| noninferiority::draw(results, figure)),
    ("calibration", |beside, _, _| calibration::draw(beside.holding(crate::calibration::STUDY))),
    ("multiverse", |beside, _, _| multiverse::draw(beside.holding(crate::multiverse::STUDY))),
    ("design", |beside, _, _| design::draw(&beside.design)),
];

impl Reproduction {
    /// Makes a figure: of the second programme's tables where they have what it shows, else of the first one's.
    pub fn figure(&self, name: &str) -> Result<Drawing, ReportError> {
        let Some(figure) = figures().iter().find(|figure| figure.name == name) else {
            return Err(ReportError::unknown(
                "figure",
                name,
                FIGURES.iter().map(|(name, _)| *name),
            ));
        };
        // The vessel has one programme.
        let is_whole = figure.both || figure.place == Place::Vessel;
        let Some(second) = self.second.as_ref().filter(|_| !is_whole) else {
            return self.figure_of(&self.results, figure);
        };
        let made = self.figure_of(second, figure).map(|drawing| (drawing, self.column(1)));
        let first = || Ok((self.figure_of(&self.results, figure)?, self.column(0)));
        made.or_else(|_: ReportError| first()).map(|(mut drawing, programme)| {
            drawing.caption = format!("From the {programme}. {}", drawing.caption);
            drawing
        })
    }

    fn figure_of(&self, results: &Results, figure: &Figure) -> Result<Drawing, ReportError> {
        match CODED.iter().find(|(name, _)| *name == figure.name) {
            Some((_, draw)) => draw(self, results, figure),
            None => make::draw(results, &self.paper, figure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_described_or_drawn_by_code_and_no_two_have_a_name() {
        let all = figures();
        for (i, figure) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.name != figure.name), "{}", figure.name);
            let is_coded = CODED.iter().any(|(name, _)| *name == figure.name);
            assert_eq!(figure.panels.is_empty(), is_coded, "{}", figure.name);
            let is_whole = is_coded || !(figure.caption.is_empty() || figure.alt.is_empty());
            assert!(is_whole, "{}", figure.name);
        }
        assert!(CODED.iter().all(|(name, _)| all.iter().any(|figure| figure.name == *name)));
    }
}
