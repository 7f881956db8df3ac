//! Which claims hold in which universe, and for every claim its effects, sorted, with the choices
//! beneath.

use backcut_page::draw::{
    Anchor, Axis, Canvas, Drawing, Key, PANEL_WIDTH, Panel, Plot, PlotSpec, Series,
};
use backcut_page::draw::{range, shorten};
use backcut_page::report::data::Data;
use backcut_page::report::{ReportError, Results};
use backcut_text::format;

use crate::multiverse::{Claim, Design, Fate, Outcome, STUDY, claims};

/// Height of a line of choices, and of a claim's row.
const LINE: f64 = 11.0;
const ROW: f64 = 12.5;
/// Room for the claims' names beside the cells, and for the counts behind them.
const NAMES: f64 = 176.0;
const COUNTS: f64 = 38.0;
/// Room for the choices' names.
const CHOICES: f64 = 148.0;
const SIZE: f64 = 10.5;

pub fn draw(results: &Results) -> Result<Drawing, ReportError> {
    let mut all = claims(results);
    all.retain(|claim| !claim.outcomes.is_empty());
    if all.is_empty() {
        return Err(ReportError::missing(STUDY, format!("study {STUDY} was not collected")));
    }
    let design = Design::load().map_err(|why| ReportError::missing(STUDY, why))?;
    let mut data = Data::default();
    let order = order(&all, &design);
    let mut panels = vec![overview(&all, &order), choices(&design, &order)];
    for claim in &all {
        if claim.missing > 0 {
            data.gap(format!("{} was not computed in {} universes", claim.name, claim.missing));
        }
        panels.extend(curve(claim, &design, &mut data));
    }
    Ok(Drawing {
        title: "Which claims depend on what nobody published".into(),
        caption: format!(
            "Study {STUDY}. First panel: a row per claim and a column per universe, those in which \
             most claims hold at the left, with how often each claim holds at the right. Second: \
             the choices that the same columns are made of. Then every claim's effect with its \
             family's interval, the smallest first, and beneath each the choices of its universe, \
             in black the one that moves the claim most. {}{}",
            told(&all, &design),
            data.gap_sentence()
        ),
        legend: Fate::ALL.map(|fate| Key::mark(series(fate), fate.words())).to_vec(),
        panels,
        alt:
            "Which claims hold in which universe, the choices of each universe, and every claim's \
              effects in all of them."
                .into(),
        csv: data.csv(),
    })
}

/// Which claims hold everywhere, which nowhere, and what the others depend on.
fn told(all: &[Claim], design: &Design) -> String {
    let names = |is: &dyn Fn(&Claim) -> bool| {
        all.iter().filter(|claim| is(claim)).map(|c| c.name.as_str()).collect::<Vec<_>>().join("; ")
    };
    let mut text = String::new();
    let everywhere = names(&|claim| claim.count(Fate::Holds) == claim.all());
    let nowhere = names(&|claim| claim.count(Fate::Holds) == 0);
    for (what, names) in [("every universe", everywhere), ("none", nowhere)] {
        if !names.is_empty() {
            text += &format!("Holds in {what}: {names}. ");
        }
    }
    let some = |claim: &&Claim| (1..claim.all()).contains(&claim.count(Fate::Holds));
    let others: Vec<String> = all
        .iter()
        .filter(some)
        .map(|claim| {
            let moved = claim
                .moved_by(design)
                .map_or_else(String::new, |(factor, _)| format!(", moved most by {factor}"));
            format!("{} ({} of {}{moved})", claim.name, claim.count(Fate::Holds), claim.all())
        })
        .collect();
    if !others.is_empty() {
        text += &format!("In some: {}.", others.join("; "));
    }
    text.trim_end().to_owned()
}

fn series(fate: Fate) -> Series {
    match fate {
        Fate::Holds => Series::BLUE,
        Fate::Fails => Series::VERMILION,
        Fate::Open => Series::GREY,
    }
}

fn fate_in(claim: &Claim, universe: &str) -> Option<Fate> {
    claim.outcomes.iter().find(|o| o.universe == universe).map(Outcome::fate)
}

/// The universes, those in which most claims hold first.
fn order<'d>(all: &[Claim], design: &'d Design) -> Vec<&'d str> {
    let holding = |universe: &str| {
        all.iter().filter(|claim| fate_in(claim, universe) == Some(Fate::Holds)).count()
    };
    let mut universes: Vec<&str> = design.universes.iter().map(|(name, _)| name.as_str()).collect();
    universes.sort_by_key(|universe| std::cmp::Reverse(holding(universe)));
    universes
}

/// A cell per claim and universe.
fn overview(all: &[Claim], universes: &[&str]) -> Panel {
    let title = "Claims by universe";
    let step = (PANEL_WIDTH - NAMES - COUNTS) / universes.len().max(1) as f64;
    let place = |i: usize| NAMES + step * i as f64;
    let mut canvas = Canvas::default();
    canvas.text("h ink", (6.0, 14.0), Anchor::Start, false, title);
    let mut y = 24.0;
    for claim in all {
        let name = shorten(&claim.name, SIZE, NAMES - 8.0);
        canvas.text("t ink", (NAMES - 5.0, y + 9.0), Anchor::End, false, &name);
        for fate in Fate::ALL {
            let here =
                universes.iter().enumerate().filter(|(_, u)| fate_in(claim, u) == Some(fate));
            let corners: Vec<(f64, f64)> = here.map(|(i, _)| (place(i), y)).collect();
            let text =
                format!("{}: {} in {} of {}", claim.name, fate.words(), corners.len(), claim.all());
            // What decides nothing is smaller: the eye should find the others.
            let inset = if fate == Fate::Open { 2.2 } else { 0.5 };
            canvas.cells(series(fate), &corners, [step, ROW - 1.5], inset, &text);
        }
        let count = format!("{}/{}", claim.count(Fate::Holds), claim.all());
        canvas.text("t soft", (PANEL_WIDTH - 4.0, y + 9.0), Anchor::End, false, &count);
        y += ROW;
    }
    Panel { body: canvas.body, height: y + 8.0, title: title.into() }
}

/// What the universes are made of, in the same order.
fn choices(design: &Design, universes: &[&str]) -> Panel {
    let title = "Choices of the same universes";
    let step = (PANEL_WIDTH - CHOICES - 8.0) / universes.len().max(1) as f64;
    let place = |i: usize| CHOICES + step * i as f64;
    let mut canvas = Canvas::default();
    canvas.text("h ink", (6.0, 14.0), Anchor::Start, false, title);
    let mut y = 24.0;
    for (at, factor, level) in design.lines() {
        let name = format!("{factor}: {level}");
        canvas.text("t soft", (CHOICES - 5.0, y + 8.0), Anchor::End, false, &name);
        let has = |universe: &str| design.level(universe, at) == Some(level);
        let here = universes.iter().enumerate().filter(|(_, u)| has(u));
        let corners: Vec<(f64, f64)> = here.map(|(i, _)| (place(i), y)).collect();
        canvas.cells(Series::GREY, &corners, [step, LINE - 1.0], 1.8, &name);
        y += LINE;
    }
    Panel { body: canvas.body, height: y + 8.0, title: title.into() }
}

fn curve(claim: &Claim, design: &Design, data: &mut Data) -> Option<Panel> {
    let ends = claim.outcomes.iter().flat_map(|o| o.interval.unwrap_or([o.mean; 2]));
    let y = range(ends.filter(|v| v.is_finite()).chain([0.0]))?;
    let spec = PlotSpec {
        title: &claim.name,
        x: Axis::Names(vec![String::new(); claim.outcomes.len()]),
        x_label: "",
        y,
        y_is_log: false,
        y_label: "effect",
        height: 180.0,
    };
    let mut plot = Plot::with_room(&spec, CHOICES);
    for (i, outcome) in claim.outcomes.iter().enumerate() {
        let (x, series) = (plot.slot(i, 0.0), series(outcome.fate()));
        if let Some([low, high]) = outcome.interval.filter(|i| i.iter().all(|v| v.is_finite())) {
            let class = format!("s{} line", series.index());
            let (low, high) = (plot.y(low), plot.y(high));
            plot.canvas.line(&class, (x, low), (x, high), None);
        }
        let text = format!(
            "{}: {} ({})",
            outcome.universe,
            format::estimate(outcome.mean, outcome.interval),
            outcome.fate().words()
        );
        let y = plot.y(outcome.mean);
        plot.canvas.mark(series, x, y, false, &text);
        data.value(
            &claim.name,
            &outcome.universe,
            outcome.fate().words(),
            "mean",
            outcome.mean,
            "",
        );
    }
    let (_, bottom) = plot.ends();
    let mut y = bottom + 8.0;
    let step = plot.slot(1, 0.0) - plot.slot(0, 0.0);
    let moved = claim.moved_most(design).map(|(at, _)| at);
    for (at, factor, level) in design.lines() {
        // The choice that moves it most stands out.
        let class = if moved == Some(at) { "t ink" } else { "t soft" };
        let name = format!("{factor}: {level}");
        plot.canvas.text(class, (CHOICES - 6.0, y + 8.0), Anchor::End, false, &name);
        let has = |o: &Outcome| design.level(&o.universe, at) == Some(level);
        let here = claim.outcomes.iter().enumerate().filter(|(_, o)| has(o));
        let corners: Vec<(f64, f64)> = here.map(|(i, _)| (plot.slot(i, -0.5), y)).collect();
        plot.canvas.cells(Series::GREY, &corners, [step, LINE - 1.0], 1.8, &name);
        y += LINE;
    }
    Some(Panel { height: y + 10.0, title: claim.sentence(design), ..plot.finish() })
}
