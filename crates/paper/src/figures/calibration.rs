//! Candidates by targets: how far each candidate is from what the paper publishes where nothing is
//! cut.

use backcut_page::draw::{Anchor, Canvas, Drawing, Key, Panel, Scale, Series};
use backcut_page::report::data::Data;
use backcut_page::report::{ReportError, Results};
use backcut_text::format;

use crate::calibration::{Candidate, STUDY, candidates};

/// Room for the candidates' names.
const NAMES: f64 = 112.0;
/// Where the first line begins.
const TOP: f64 = 30.0;
/// Height of a candidate's line.
const LINE: f64 = 15.0;

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
    let Some(range) = backcut_page::draw::range(values.chain([0.0])) else {
        return Err(ReportError::missing(STUDY, "no cell of it is complete".to_owned()));
    };
    let mut data = Data::default();
    let panels = groups.iter().map(|group| panel(group, &all, range, &mut data)).collect();
    let told = |candidate: &Candidate| {
        let score = score(candidate).map_or_else(|| "not complete".to_owned(), format::number);
        format!("{} {score}", candidate.name)
    };
    let scores: Vec<String> = all.iter().map(told).collect();
    Ok(Drawing {
        title: "Candidates by what is published of policies without a cut".into(),
        caption: format!(
            "Study {STUDY}: each mark is a condition, its place the logarithm of ours by the \
             paper's, candidates with the best score first; excesses, shares and spreads enter as \
             one plus themselves. Scores, the root mean square over all cells: {}.{}",
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

/// One line per candidate, one mark per condition.
fn panel(group: &str, all: &[Candidate], range: [f64; 2], data: &mut Data) -> Panel {
    let mut canvas = Canvas::default();
    let x = Scale::new(range, [NAMES + 8.0, backcut_page::draw::PANEL_WIDTH - 8.0]);
    let bottom = TOP + LINE * all.len() as f64;
    canvas.text("h ink", (6.0, 14.0), Anchor::Start, false, group);
    for tick in backcut_page::draw::ticks(range[0], range[1], 4).0 {
        let (at, label) = (x.at(tick), format::number(tick));
        let class = if tick == 0.0 { "soft-line" } else { "grid-line" };
        canvas.line(class, (at, TOP - 4.0), (at, bottom), None);
        canvas.text("t soft", (at, bottom + 12.0), Anchor::Middle, false, &label);
    }
    for (i, candidate) in all.iter().enumerate() {
        let y = TOP + LINE * (i as f64 + 0.5);
        canvas.text("t ink", (NAMES, y + 3.5), Anchor::End, false, &candidate.name);
        for cell in candidate.cells.iter().filter(|cell| cell.group == group) {
            let Some(mismatch) = cell.mismatch else {
                data.gap(format!("{} lacks {group} at {}", candidate.name, cell.condition));
                continue;
            };
            let ours = cell.ours.map_or_else(String::new, format::number);
            let text = format!(
                "{}, {group} at {}: {ours}, the paper {}",
                candidate.name,
                cell.condition,
                format::number(cell.paper)
            );
            canvas.mark(Series::BLUE, x.at(mismatch), y, false, &text);
            data.value(group, &candidate.name, &cell.condition, "mean", mismatch, "log ratio");
        }
    }
    Panel { body: canvas.body, height: bottom + 20.0, title: group.to_owned() }
}
