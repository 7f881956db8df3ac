//! Candidates by targets: how far each candidate is from what the paper publishes where nothing is cut.

use backcut_draw::{Axis, Drawing, Key, Plot, PlotSpec, Series};
use backcut_report::data::Data;
use backcut_report::{ReportError, Results};
use backcut_text::format;

use crate::calibration::{Candidate, STUDY, candidates};

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let mut all = candidates(results)?;
    let score = |candidate: &Candidate| candidate.score(|_| true);
    all.sort_by(|a, b| {
        let of = |c: &Candidate| score(c).unwrap_or(f64::INFINITY);
        of(a).total_cmp(&of(b))
    });
    let mut groups: Vec<String> = Vec::new();
    for cell in all.iter().flat_map(|candidate| &candidate.cells) {
        if !groups.contains(&cell.group) {
            groups.push(cell.group.clone());
        }
    }
    let values = all.iter().flat_map(|c| &c.cells).filter_map(|cell| cell.mismatch);
    let Some(range) = backcut_draw::range(values.chain([0.0])) else {
        return Err(ReportError::missing(STUDY, "no cell of it is complete".to_owned()));
    };
    let names: Vec<String> = all.iter().map(|candidate| candidate.name.clone()).collect();
    let mut data = Data::default();
    let mut panels = Vec::new();
    for group in &groups {
        let mut plot = Plot::new(&PlotSpec {
            title: group,
            x: Axis::Names(names.clone()),
            x_label: "candidate, the best score first",
            y: range,
            y_is_log: false,
            y_label: "log of ours by the paper's",
            height: 200.0,
        });
        for (i, candidate) in all.iter().enumerate() {
            let cells: Vec<_> = candidate.cells.iter().filter(|c| c.group == *group).collect();
            for (j, cell) in cells.iter().enumerate() {
                let Some(mismatch) = cell.mismatch else {
                    data.gap(format!("{} lacks {group} at {}", candidate.name, cell.condition));
                    continue;
                };
                let share = (j as f64 + 0.5) / cells.len() as f64 - 0.5;
                let (x, y) = (plot.slot(i, 0.7 * share), plot.y(mismatch));
                let ours = cell.ours.map_or_else(String::new, format::number);
                let text = format!(
                    "{}, {group} at {}: {ours}, the paper {}",
                    candidate.name,
                    cell.condition,
                    format::number(cell.paper)
                );
                plot.canvas.mark(Series::BLUE, x, y, false, &text);
                data.value(group, &candidate.name, &cell.condition, "mean", mismatch, "log ratio");
            }
        }
        panels.push(plot.finish());
    }
    let told = |candidate: &Candidate| {
        let score = score(candidate).map_or_else(|| "not complete".to_owned(), format::number);
        format!("{} {score}", candidate.name)
    };
    let scores: Vec<String> = all.iter().map(told).collect();
    Ok(Drawing {
        title: "Candidates by what is published of policies without a cut".into(),
        caption: format!(
            "Study {STUDY}: each mark is a condition; excesses, shares and spreads enter as one plus themselves. Scores, \
             the root mean square over all cells: {}.{}",
            scores.join(", "),
            data.gap_sentence()
        ),
        legend: vec![Key::mark(Series::BLUE, "one condition")],
        panels,
        alt: "Mismatch of every candidate configuration in every published cell without a cut."
            .into(),
        csv: data.csv(),
    })
}
