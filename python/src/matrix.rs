//! Triangles of numbers beside each other: which loss reaches which step.

use std::fmt::Write as _;

use backcut_page::draw::{Anchor, Canvas, Drawing, PANEL_WIDTH, Panel, Series, shorten};
use pyo3::prelude::*;

/// Where a panel's cells begin, and how far they may go.
const LEFT: f64 = 34.0;
const TOP: f64 = 44.0;

/// One triangle: a name, and a row per loss. A value from 0 to 1 is a shade, a negative one leaves
/// its cell out.
type Triangle = (String, Vec<Vec<f64>>);

/// Draws triangles as one SVG document. `read_by` says what a row is.
#[pyfunction]
#[pyo3(signature = (title, caption, triangles, read_by="loss of step t"))]
pub fn matrices(title: &str, caption: &str, triangles: Vec<Triangle>, read_by: &str) -> String {
    let panels = triangles.iter().map(|(name, rows)| panel(name, rows, read_by)).collect();
    Drawing {
        title: title.to_owned(),
        caption: caption.to_owned(),
        legend: Vec::new(),
        panels,
        alt: caption.to_owned(),
        csv: String::new(),
    }
    .svg()
}

fn panel(name: &str, rows: &[Vec<f64>], read_by: &str) -> Panel {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let side = ((PANEL_WIDTH - LEFT - 6.0) / columns as f64).min(22.0);
    let room = if side > 5.0 { 1.0 } else { 0.0 };
    let mut canvas = Canvas::default();
    let heading = shorten(name, 11.5, PANEL_WIDTH - 12.0);
    canvas.text("h ink", (6.0, 14.0), Anchor::Start, false, &heading);
    canvas.text("t soft", (LEFT, 30.0), Anchor::Start, false, "stored at step j");
    canvas.text("t soft", (12.0, TOP + 60.0), Anchor::Middle, true, read_by);
    let every = (26.0 / side).ceil().max(1.0) as usize;
    for j in (0..columns).step_by(every) {
        let x = LEFT + (j as f64 + 0.5) * side;
        canvas.text("t soft", (x, TOP - 3.0), Anchor::Middle, false, &j.to_string());
    }
    for (t, row) in rows.iter().enumerate() {
        let y = TOP + t as f64 * side;
        if t % every == 0 {
            let at = (LEFT - 4.0, y + side / 2.0 + 3.5);
            canvas.text("t soft", at, Anchor::End, false, &t.to_string());
        }
        for (j, value) in row.iter().enumerate().filter(|(_, value)| **value >= 0.0) {
            let x = LEFT + j as f64 * side;
            // A faint cell is an edge that could have carried something.
            let shade = if *value > 0.0 { 0.25 + 0.75 * value.min(1.0) } else { 0.07 };
            let _ = writeln!(
                canvas.body,
                "<rect class=\"f{}\" fill-opacity=\"{shade:.3}\" x=\"{x:.1}\" y=\"{y:.1}\" \
                 width=\"{side:.1}\" height=\"{side:.1}\"><title>t = {t}, j = {j}: \
                 {value:.3}</title></rect>",
                Series::BLUE.index(),
                side = side - room,
            );
        }
    }
    let height = TOP + rows.len() as f64 * side + 10.0;
    Panel { body: canvas.body, height, title: name.to_owned() }
}
