//! A panel of named rows: what a forest of intervals and a list of values by name have in common.
//!
//! A row's name and its numbers stand above its marks, not beside them: a panel is as wide as a
//! phone, and names of contrasts are long.

use crate::draw::PANEL_WIDTH;
use crate::draw::canvas::{Anchor, Canvas};
use crate::draw::drawing::Panel;
use crate::draw::palette::Series;
use crate::draw::scale::{Scale, range, ticks};
use crate::draw::width::{shorten, width_of, wrap};
use backcut_text::format::fixed;

/// One value with its intervals.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Whose it is.
    pub series: Series,
    /// Where it lies.
    pub value: f64,
    /// The interval that is drawn thin.
    pub wide: Option<[f64; 2]>,
    /// The interval that is drawn thick.
    pub narrow: Option<[f64; 2]>,
    /// Whether the mark is open.
    pub open: bool,
    /// The same in words.
    pub text: String,
}

/// A named row.
#[derive(Clone, Debug)]
pub struct Row {
    /// At its left.
    pub name: String,
    /// At its right.
    pub note: String,
    /// Each on a line of its own, so that equal values stay visible.
    pub marks: Vec<Mark>,
    /// A stretch behind the marks: what they are compared with.
    pub band: Option<[f64; 2]>,
}

/// What a panel of rows is to show.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The title above it.
    pub title: &'a str,
    /// The label of the bottom.
    pub axis: &'a str,
    /// Vertical lines, with labels; the panel covers them.
    pub rules: &'a [(f64, String)],
    /// From top to bottom.
    pub rows: &'a [Row],
    /// What the bottom covers, where panels share a scale; by itself all that is drawn.
    pub reach: Option<[f64; 2]>,
}

const SIZE: f64 = 10.5;
const LEFT: f64 = 10.0;
const LINE: f64 = 9.0;
/// Room for a row's name.
const HEAD: f64 = 17.0;

/// A range that holds every mark, stretch and line of some rows.
pub fn reach_of(rows: &[Row], rules: &[(f64, String)]) -> [f64; 2] {
    let marks = || rows.iter().flat_map(|row| &row.marks);
    let ends = marks().flat_map(|m| m.wide.into_iter().chain(m.narrow).flatten());
    let bands = rows.iter().flat_map(|row| row.band.into_iter().flatten());
    let values = marks().map(|m| m.value).chain(ends).chain(bands).chain(rules.iter().map(|r| r.0));
    range(values).unwrap_or([0.0, 1.0])
}

impl Rows<'_> {
    /// Draws it.
    pub fn panel(&self) -> Panel {
        let reach = self.reach.unwrap_or_else(|| reach_of(self.rows, self.rules));
        let x = Scale::new(reach, [LEFT, PANEL_WIDTH - LEFT]);
        let mut canvas = Canvas::default();
        let title = wrap(self.title, 11.5, PANEL_WIDTH - 12.0);
        for (i, line) in title.iter().enumerate() {
            canvas.text("h ink", (6.0, 14.0 + 15.0 * i as f64), Anchor::Start, false, line);
        }
        let labels = if self.rules.iter().any(|(_, label)| !label.is_empty()) { 13.0 } else { 0.0 };
        let top = 8.0 + 15.0 * title.len() as f64 + labels;
        let height = |row: &Row| HEAD + LINE * row.marks.len() as f64;
        let bottom = top + self.rows.iter().map(height).sum::<f64>() + 4.0;
        let mut tops = Vec::new();
        let mut y = top;
        for row in self.rows {
            if !row.marks.is_empty() {
                tops.push((y + 15.0, y + height(row) + 1.0));
            }
            if let Some([low, high]) = row.band {
                let (from, lines) = (x.at(low), LINE * row.marks.len() as f64);
                canvas.rect("band", from, y + 15.0, x.at(high) - from, lines + 1.0);
            }
            y += height(row);
        }
        self.axis(&mut canvas, &x, reach, &tops, [top, bottom]);
        let mut y = top;
        for row in self.rows {
            let note = width_of(&row.note, SIZE);
            let name = shorten(&row.name, SIZE, PANEL_WIDTH - 18.0 - note);
            canvas.text("t ink", (6.0, y + 12.0), Anchor::Start, false, &name);
            let right = (PANEL_WIDTH - 6.0, y + 12.0);
            canvas.text("t soft", right, Anchor::End, false, &row.note);
            for (i, mark) in row.marks.iter().enumerate() {
                let at = y + HEAD + 3.0 + LINE * i as f64;
                let index = mark.series.index();
                if let Some([low, high]) = mark.wide {
                    let class = format!("s{index} bar");
                    canvas.line(&class, (x.at(low), at), (x.at(high), at), None);
                }
                if let Some([low, high]) = mark.narrow {
                    let (from, to) = (x.at(low), x.at(high));
                    canvas.rect(&format!("f{index}"), from, at - 2.0, to - from, 4.0);
                }
                canvas.mark(mark.series, x.at(mark.value), at, mark.open, &mark.text);
            }
            y += height(row);
        }
        Panel { body: canvas.body, height: bottom + 34.0, title: self.title.to_owned() }
    }

    /// Lines run where marks are and leave the names alone.
    fn axis(
        &self,
        canvas: &mut Canvas,
        x: &Scale,
        reach: [f64; 2],
        stretches: &[(f64, f64)],
        [top, bottom]: [f64; 2],
    ) {
        let vertical = |canvas: &mut Canvas, class: &str, place: f64, dashes: Option<&str>| {
            for (from, to) in stretches {
                canvas.line(class, (place, *from), (place, *to), dashes);
            }
        };
        let (values, decimals) = ticks(reach[0], reach[1], 5);
        for value in values {
            let place = x.at(value);
            vertical(canvas, "grid-line", place, None);
            let label = fixed(value, decimals);
            let half = width_of(&label, SIZE) / 2.0 + 1.0;
            let at = place.clamp(half, PANEL_WIDTH - half);
            canvas.text("t soft", (at, bottom + 13.0), Anchor::Middle, false, &label);
        }
        canvas.line("soft-line", (LEFT, bottom), (PANEL_WIDTH - LEFT, bottom), None);
        for (value, label) in self.rules {
            let place = x.at(*value);
            let dashes = (*value != 0.0).then_some("4 3");
            vertical(canvas, "ink-line", place, dashes);
            let half = width_of(label, SIZE) / 2.0 + 1.0;
            let at = place.clamp(half, PANEL_WIDTH - half);
            canvas.text("t soft", (at, top - 3.0), Anchor::Middle, false, label);
        }
        let middle = (PANEL_WIDTH / 2.0, bottom + 28.0);
        let label = shorten(self.axis, SIZE, PANEL_WIDTH - 12.0);
        canvas.text("t ink", middle, Anchor::Middle, false, &label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_inside_their_panel_and_are_escaped() {
        let mark = |value: f64| Mark {
            series: Series::BLUE,
            value,
            wide: Some([value - 1.0, value + 1.0]),
            narrow: None,
            open: false,
            text: "a < b".into(),
        };
        let row = |name: &str, value: f64| Row {
            name: name.into(),
            note: "1 [0, 2]".into(),
            marks: vec![mark(value); 2],
            band: Some([value - 0.5, value + 9.0]),
        };
        let rows = [row("a < b", 1.0), row(&"long name ".repeat(20), -4.0)];
        let rules = [(0.0, "0".into())];
        let panel = Rows { title: "t", axis: "x", rules: &rules, rows: &rows, reach: None }.panel();
        assert!(panel.body.contains("a &lt; b") && !panel.body.contains("NaN"), "{}", panel.body);
        assert_eq!(panel.body.matches("<path tabindex").count(), 4);
        assert_eq!(panel.body.matches("class=\"band\"").count(), 2);
        let [low, high] = reach_of(&rows, &rules);
        assert!(low < -5.0 && high > 10.0, "stretches count too: {low} {high}");
        let empty = Rows { title: "t", axis: "x", rules: &[], rows: &[], reach: None }.panel();
        assert!(!empty.body.contains("NaN") && !empty.body.contains("inf"), "{}", empty.body);
    }
}
