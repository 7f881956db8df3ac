//! Every contrast that a study judged, with its interval.

use std::fmt::Write as _;

use crate::draw::{Drawing, Key, Mark, Panel, Row, Rows, Series};
use backcut_evidence::ledger::Status;

use crate::report::data::Data;
use crate::report::error::ReportError;
use crate::report::escape::csv;
use crate::report::format::{estimate, exact};
use crate::report::results::{Judged, Study, distinct};

const NAME: &str = "forest";

/// A row whose reach is this much smaller than its panel's gets another panel, or it would be a dot
/// at zero.
const SMALLER: f64 = 20.0;

pub(super) fn draw(study: &Study) -> Result<Drawing, ReportError> {
    if study.analysis.is_empty() {
        let why = format!("{} has no family of contrasts that was analysed", study.name);
        return Err(ReportError::missing(NAME, why));
    }
    let mut gaps = Data::default();
    let mut file = "family,contrast,expression,mean,lower,upper,bound,verdict,status\n".to_owned();
    let mut panels = Vec::new();
    for family in distinct(study.analysis.iter().map(|row| row.family.as_str())) {
        let rows = || study.analysis.iter().filter(|row| row.family == family);
        for row in rows() {
            let numbers =
                [row.mean, row.lower, row.upper].map(|v| v.map_or_else(String::new, exact));
            let _ = writeln!(
                file,
                "{},{},{}",
                [family, &row.contrast, &row.expression].map(csv).join(","),
                numbers.join(","),
                [row.bound.clone(), row.decision(), row.status.to_string()]
                    .map(|text| csv(&text))
                    .join(",")
            );
            if row.mean.is_none() {
                gaps.gap(format!("{} of {family}: {}", row.contrast, row.decision()));
            }
        }
        let mut shown: Vec<&Judged> = rows().filter(|row| row.mean.is_some()).collect();
        let kind = rows().next().map(Judged::kind).unwrap_or_default();
        let title = format!("{family}: {kind}");
        while !shown.is_empty() {
            let largest = shown.iter().map(|row| reach(row)).fold(0.0, f64::max);
            let (now, later): (Vec<&Judged>, Vec<&Judged>) =
                shown.into_iter().partition(|row| reach(row) * SMALLER >= largest);
            panels.push(panel(&title, &now));
            shown = later;
        }
    }
    if panels.is_empty() {
        return Err(ReportError::missing(
            NAME,
            format!("no contrast of {} has an estimate", study.name),
        ));
    }
    Ok(Drawing {
        title: format!("Contrasts of {}", study.name),
        caption: format!(
            "Estimates with the interval of their family, which decides (thin), and the pointwise \
             95% source-bootstrap interval (thick). One panel per family; contrasts of much \
             smaller size have a panel of their own.{}",
            gaps.gap_sentence()
        ),
        legend: vec![
            Key::mark(Series::BLUE, "confirmatory or prespecified"),
            Key::open(Series::BLUE, "descriptive or post hoc"),
        ],
        panels,
        alt: "Estimates of every contrast with their intervals, against zero.".into(),
        csv: file,
    })
}

/// How far from zero a row is drawn.
fn reach(row: &Judged) -> f64 {
    [row.mean, row.lower, row.upper].into_iter().flatten().map(f64::abs).fold(0.0, f64::max)
}

fn panel(title: &str, judged: &[&Judged]) -> Panel {
    let row = |row: &&Judged| {
        let mean = row.mean.unwrap_or_default();
        let ends = [row.lower.unwrap_or(mean), row.upper.unwrap_or(mean)];
        let text = format!(
            "{}: {}, {}; {}; {}; {}",
            row.contrast,
            estimate(mean, row.interval()),
            row.kind(),
            row.decision(),
            row.status,
            row.expression
        );
        let mark = Mark {
            series: Series::BLUE,
            value: mean,
            wide: Some(ends),
            narrow: row.pointwise,
            open: row.status.status < Status::Prespecified,
            text,
        };
        Row {
            name: row.contrast.clone(),
            note: estimate(mean, row.interval()),
            marks: vec![mark],
            band: None,
        }
    };
    let rows: Vec<Row> = judged.iter().map(row).collect();
    Rows { title, axis: "estimate", rules: &[(0.0, String::new())], rows: &rows, reach: None }
        .panel()
}
