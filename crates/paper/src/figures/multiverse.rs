//! Specification curves: every claim in every universe, sorted, with the choices beneath.

use backcut_draw::{Anchor, Canvas, Drawing, Key, PANEL_WIDTH, Panel, Scale, Series};
use backcut_report::data::Data;
use backcut_report::{ReportError, Results};
use backcut_text::format;

use crate::multiverse::{Claim, Design, Outcome, STUDY, claims};

/// Height of one level's line beneath a curve.
const LINE: f64 = 11.0;
/// Room for the levels' names.
const NAMES: f64 = 138.0;
/// Where a curve begins, below its title, and where it ends.
const HEAD: f64 = 26.0;
const CURVE: f64 = 150.0;

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
        panels.extend(panel(claim, &design, &mut data));
    }
    Ok(Drawing {
        title: "Which claims depend on what nobody published".into(),
        caption: format!(
            "Study {STUDY}: effects with their families' intervals, universes sorted by effect, coloured where the interval \
             decides for or against the claim, grey where it does not; beneath each, the choices of its universe.{}",
            data.gap_sentence()
        ),
        legend: vec![
            Key::mark(Series::BLUE, "supported"),
            Key::mark(Series::GREY, "unresolved"),
            Key::mark(Series::VERMILION, "contradicted, or not shown"),
        ],
        panels,
        alt: "Effect of every claim in every universe, sorted, and the choices that make each universe.".into(),
        csv: data.csv(),
    })
}

fn series(outcome: &Outcome) -> Series {
    match outcome.verdict {
        _ if outcome.holds() => Series::BLUE,
        Some(verdict) if verdict.failed() => Series::VERMILION,
        _ => Series::GREY,
    }
}

/// A claim: its effects, sorted, and beneath each the choices of its universe.
fn panel(claim: &Claim, design: &Design, data: &mut Data) -> Option<Panel> {
    let mut canvas = Canvas::default();
    canvas.text("h ink", (6.0, 14.0), Anchor::Start, false, &claim.name);
    let ends = claim.outcomes.iter().flat_map(|o| o.interval.unwrap_or([o.mean; 2]));
    let range = backcut_draw::range(ends.filter(|v| v.is_finite()).chain([0.0]))?;
    let (up, right) = (Scale::new(range, [CURVE, HEAD]), PANEL_WIDTH - 8.0);
    let (marks, decimals) = backcut_draw::ticks(range[0], range[1], 4);
    for value in marks {
        let class = if value == 0.0 { "soft-line" } else { "grid-line" };
        canvas.line(class, (NAMES, up.at(value)), (right, up.at(value)), None);
        let text = format::fixed(value, decimals);
        canvas.text("t soft", (NAMES - 4.0, up.at(value) + 3.5), Anchor::End, false, &text);
    }
    let across = Scale::new([0.0, claim.outcomes.len().max(1) as f64], [NAMES, right]);
    for (i, outcome) in claim.outcomes.iter().enumerate() {
        let (x, series) = (across.at(i as f64 + 0.5), series(outcome));
        if let Some([low, high]) = outcome.interval.filter(|i| i.iter().all(|v| v.is_finite())) {
            let class = format!("s{} line", series.index());
            canvas.line(&class, (x, up.at(low)), (x, up.at(high)), None);
        }
        let text = format!("{}: {}", outcome.universe, format::number(outcome.mean));
        canvas.mark(series, x, up.at(outcome.mean), false, &text);
        data.value(&claim.name, &outcome.universe, "", "mean", outcome.mean, "");
        let levels = design.levels(&outcome.universe).unwrap_or_default();
        for (line, (place, level, _)) in lines(design).enumerate() {
            if levels.get(place).is_some_and(|own| own == level) {
                let y = CURVE + LINE * (line as f64 + 1.5);
                canvas.rect(&format!("f{}", series.index()), x - 2.5, y - 3.0, 5.0, 6.0);
            }
        }
    }
    for (line, (_, level, factor)) in lines(design).enumerate() {
        let y = CURVE + LINE * (line as f64 + 1.5) + 3.5;
        let name = format!("{factor}: {level}");
        canvas.text("t soft", (NAMES - 4.0, y), Anchor::End, false, &name);
    }
    let height = CURVE + LINE * (lines(design).count() as f64 + 1.0) + 8.0;
    Some(Panel { body: canvas.body, height, title: claim.name.clone() })
}

/// Every level with the place and the name of its factor.
fn lines(design: &Design) -> impl Iterator<Item = (usize, &String, &String)> {
    let factors = design.factors.iter().enumerate();
    factors.flat_map(|(place, (factor, levels))| levels.iter().map(move |l| (place, l, factor)))
}
