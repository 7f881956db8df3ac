//! The design: which derivative edges live under each cut.
//!
//! Edges come from an engine's own list, as plain numbers: this crate knows no model. Steps run from left to right;
//! state edges are straight lines below the steps, memory edges arcs above them.

use std::fmt::Write as _;

use backcut_page::draw::{Canvas, Drawing, Key, PANEL_WIDTH, Panel, Series};
use backcut_page::report::ReportError;
use backcut_text::escape::csv;

use crate::edges::{DesignEdge, DesignEdges, EdgeKind, EdgeLife};

const HEIGHT: f64 = 132.0;
/// Steps lie on this line.
const LINE: f64 = 96.0;

pub fn draw(design: &[DesignEdges]) -> Result<Drawing, ReportError> {
    if design.is_empty() {
        return Err(ReportError::missing("design", "no edges of a program were given"));
    }
    let mut data = "cut,kind,layer,from,to,life\n".to_owned();
    for cut in design {
        for edge in &cut.edges {
            let (kind, life) = (words_of_kind(edge.kind), words_of_life(edge.life));
            let DesignEdge { layer, from, to, .. } = edge;
            let _ = writeln!(data, "{},{kind},{layer},{from},{to},{life}", csv(&cut.cut));
        }
    }
    Ok(Drawing {
        title: "One forward, many backward graphs".into(),
        caption: "Derivative edges between the steps of a short rollout under each cut, as the engine lists them. \
                  Below the steps: the physical state handed on. Above: what a step stored, read by later steps (one \
                  layer shown). Every graph has the same forward."
            .into(),
        legend: vec![
            Key::line(Series::BLUE, "credit passes"),
            Key::line(Series::ORANGE, "only the projections learn"),
            Key::line(Series::GREY, "cut (thin)"),
        ],
        panels: design.iter().map(panel).collect(),
        alt: "For each cut, arcs between steps show which memory and state edges carry credit.".into(),
        csv: data,
    })
}

fn words_of_kind(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::State => "state",
        EdgeKind::Memory => "memory",
    }
}

fn words_of_life(life: EdgeLife) -> &'static str {
    match life {
        EdgeLife::Lives => "lives",
        EdgeLife::WeightsOnly => "weights only",
        EdgeLife::Cut => "cut",
    }
}

fn panel(cut: &DesignEdges) -> Panel {
    use backcut_page::draw::Anchor;
    let mut canvas = Canvas::default();
    canvas.text("h ink", (6.0, 14.0), Anchor::Start, false, &cut.cut);
    let name = backcut_page::draw::width_of(&cut.cut, 11.5) + 12.0;
    let meaning = backcut_page::draw::shorten(&cut.meaning, 10.5, PANEL_WIDTH - name - 6.0);
    canvas.text("t soft", (name, 14.0), Anchor::Start, false, &meaning);
    let room = (PANEL_WIDTH - 40.0) / cut.steps.saturating_sub(1).max(1) as f64;
    let x = |step: usize| 20.0 + room * step as f64;
    let longest = cut.steps.max(2) as f64;
    let mut edges: Vec<&DesignEdge> = cut.edges.iter().filter(|e| e.layer == 0).collect();
    // What lives is drawn last, over what is cut.
    edges.sort_by_key(|e| (std::cmp::Reverse(order(e.life)), e.from, e.to));
    for edge in edges {
        let class = match edge.life {
            EdgeLife::Lives => "s0 bar",
            EdgeLife::WeightsOnly => "s3 bar",
            EdgeLife::Cut => "s6 thin",
        };
        let dashes = match edge.life {
            EdgeLife::WeightsOnly => " stroke-dasharray=\"2 2.5\"",
            _ => "",
        };
        let (a, b) = (x(edge.from), x(edge.to));
        let path = match edge.kind {
            EdgeKind::State => {
                format!("M{a:.1} {:.1}V{:.1}H{b:.1}V{:.1}", LINE + 6.0, LINE + 18.0, LINE + 6.0)
            }
            EdgeKind::Memory => {
                // A curve rises to half of what its control point does.
                let height = 2.0 * (10.0 + 60.0 * (edge.to - edge.from) as f64 / longest);
                let (middle, top) = (f64::midpoint(a, b), LINE - 5.0 - height);
                format!("M{a:.1} {:.1}Q{middle:.1} {top:.1} {b:.1} {:.1}", LINE - 5.0, LINE - 5.0)
            }
        };
        let text = format!(
            "{} edge from step {} to step {}: {}",
            words_of_kind(edge.kind),
            edge.from,
            edge.to,
            words_of_life(edge.life)
        );
        let _ = writeln!(
            canvas.body,
            "<path class=\"{class}\"{dashes} data-v=\"{text}\" d=\"{path}\"/>"
        );
    }
    for step in 0..cut.steps {
        let _ = writeln!(
            canvas.body,
            "<circle class=\"ink\" cx=\"{:.1}\" cy=\"{LINE:.1}\" r=\"3.2\"/>",
            x(step)
        );
        let at = (x(step), LINE + 30.0);
        canvas.text("t soft", at, Anchor::Middle, false, &step.to_string());
    }
    Panel { body: canvas.body, height: HEIGHT, title: format!("{}: {}", cut.cut, cut.meaning) }
}

fn order(life: EdgeLife) -> u8 {
    match life {
        EdgeLife::Lives => 0,
        EdgeLife::WeightsOnly => 1,
        EdgeLife::Cut => 2,
    }
}
