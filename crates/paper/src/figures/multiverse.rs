//! Specification curves: every claim in every universe, sorted, with the choices beneath.

use backcut_draw::{Anchor, Axis, Canvas, Drawing, Key, Panel, Plot, PlotSpec, Series};
use backcut_report::data::Data;
use backcut_report::{ReportError, Results};
use backcut_text::format;

use crate::multiverse::{Claim, Design, Outcome, STUDY, claims};

/// Height of one level's line beneath a curve.
const LINE: f64 = 11.0;
/// Room for the levels' names.
const NAMES: f64 = 136.0;

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let all = claims(results);
    if all.iter().all(|claim| claim.outcomes.is_empty()) {
        return Err(ReportError::missing(STUDY, format!("study {STUDY} was not collected")));
    }
    let design = Design::load().map_err(|why| ReportError::missing(STUDY, why))?;
    let mut data = Data::default();
    let mut panels = Vec::new();
    for claim in all.iter().filter(|claim| !claim.outcomes.is_empty()) {
        if claim.missing > 0 {
            data.gap(format!("{} was not computed in {} universes", claim.name, claim.missing));
        }
        panels.extend(curve(claim, &mut data));
        panels.push(choices(claim, &design));
    }
    Ok(Drawing {
        title: "Which claims depend on what nobody published".into(),
        caption: format!(
            "Study {STUDY}: effects with their families' intervals, universes sorted by effect, filled where the interval \
             decides for the claim; beneath, the choices of each universe.{}",
            data.gap_sentence()
        ),
        legend: vec![
            Key::mark(Series::BLUE, "the claim holds"),
            Key::mark(Series::VERMILION, "it does not"),
        ],
        panels,
        alt: "Effect of every claim in every universe, sorted, and the choices that make each universe.".into(),
        csv: data.csv(),
    })
}

fn series(outcome: &Outcome) -> Series {
    if outcome.holds() { Series::BLUE } else { Series::VERMILION }
}

fn curve(claim: &Claim, data: &mut Data) -> Option<Panel> {
    let ends = claim.outcomes.iter().flat_map(|o| o.interval.unwrap_or([o.mean; 2]));
    let range = backcut_draw::range(ends.filter(|v| v.is_finite()).chain([0.0]))?;
    let mut plot = Plot::new(&PlotSpec {
        title: &claim.name,
        x: Axis::Names(claim.outcomes.iter().map(|o| o.universe.clone()).collect()),
        x_label: "universes, the smallest effect first",
        y: range,
        y_is_log: false,
        y_label: "effect",
        height: 190.0,
    });
    for (i, outcome) in claim.outcomes.iter().enumerate() {
        let (x, series) = (plot.slot(i, 0.0), series(outcome));
        if let Some([low, high]) = outcome.interval.filter(|i| i.iter().all(|v| v.is_finite())) {
            let class = format!("s{} line", series.index());
            let (low, high) = (plot.y(low), plot.y(high));
            plot.canvas.line(&class, (x, low), (x, high), None);
        }
        let text = format!("{}: {}", outcome.universe, format::number(outcome.mean));
        let y = plot.y(outcome.mean);
        plot.canvas.mark(series, x, y, false, &text);
        data.value(&claim.name, &outcome.universe, "", "mean", outcome.mean, "");
    }
    Some(plot.finish())
}

/// One line per level, a mark where a universe has it; universes in the order of the curve.
fn choices(claim: &Claim, design: &Design) -> Panel {
    let mut canvas = Canvas::default();
    let lines = design.factors.iter().map(|(_, levels)| levels.len()).sum::<usize>();
    let width = backcut_draw::PANEL_WIDTH - NAMES - 8.0;
    let step = width / claim.outcomes.len().max(1) as f64;
    let mut line = 0.0;
    for (place, (factor, levels)) in design.factors.iter().enumerate() {
        for level in levels {
            let y = 14.0 + LINE * line;
            line += 1.0;
            let name = format!("{factor}: {level}");
            canvas.text("t soft", (NAMES - 4.0, y + 3.5), Anchor::End, false, &name);
            for (i, outcome) in claim.outcomes.iter().enumerate() {
                let chosen = design.levels(&outcome.universe).and_then(|levels| levels.get(place));
                if chosen == Some(level) {
                    let x = NAMES + step * (i as f64 + 0.5);
                    canvas.mark(series(outcome), x, y, false, &outcome.universe);
                }
            }
        }
    }
    Panel {
        body: canvas.body,
        height: 20.0 + LINE * lines as f64,
        title: format!("Choices, {}", claim.name),
    }
}
