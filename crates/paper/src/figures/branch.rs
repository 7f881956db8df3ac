//! Learning curves with the branch.

use backcut_page::draw::Drawing;
use backcut_page::report::curves::{Line, Panels};
use backcut_page::report::{ErrorWords, ReportError, Results};

use super::make::{first_of, series_of};
use super::spec::Figure;
use crate::words::under;

/// Arms that are drawn, in the legend's order; the last one branches off the first.
const ARMS: [(&str, &str, Option<&str>); 6] = [
    ("FF", "FF", None),
    ("F_SG", "F_SG from the start", None),
    ("w1", "w = 1", None),
    ("w2", "w = 2", None),
    ("SEG-8", "SEG-8", None),
    ("F_SG_cont", "F_SG from update 800", Some("FF")),
];

pub fn draw(results: &Results, figure: &Figure) -> Result<Drawing, ReportError> {
    let name = first_of(results, figure)?;
    let study = results.one(Some(name))?;
    let lines: Vec<Line<'_>> = ARMS
        .iter()
        .map(|(arm, label, parent)| Line { arm, label, series: series_of(arm), parent: *parent })
        .collect();
    let words = ErrorWords { error: "error".into(), unit: "m²".into() };
    let mut panels = Panels::new(study, words, &lines);
    for condition in study.conditions() {
        panels.add(condition, &under(condition));
    }
    let (panels, legend, data) = panels.finish()?;
    Ok(Drawing {
        title: "Learning curves".into(),
        caption: format!(
            "Study {name}: mean evaluation error over sources (lines) and single sources (thin), \
             on a logarithmic scale; descriptive, no intervals. The dotted vertical line is the \
             update at which F_SG branches off FF.{}",
            data.gap_sentence()
        ),
        legend,
        panels,
        alt: "Evaluation error against training updates for every arm.".into(),
        csv: data.csv(),
    })
}
