//! Forest plots, in the terminal and as SVG.
//!
//! One row per contrast on a shared axis: the pointwise interval is the thick part, the family's
//! endpoints the thin one, the estimate a mark; zero and the margin are vertical lines. The SVG is written by
//! hand (a plotting crate would be larger than this crate) and holds no script, font or external
//! reference.

use std::fmt::Write as _;

use crate::family::{Report, Row};
use crate::text::{Digits, short};

/// The axis: a range of values mapped onto a range of places.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Covers every interval, zero and the margin, with a little room.
    fn of(report: &Report) -> Self {
        let marks = report.rows.iter().flat_map(|row| {
            [row.pointwise[0], row.pointwise[1], row.family[0], row.family[1], row.estimate]
        });
        let (low, high) = marks
            .chain([0.0])
            .chain(report.margin)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let room = if high > low { 0.02 * (high - low) } else { 1.0 };
        Self { low: low - room, high: high + room }
    }

    /// Where a value lies, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// The plot in characters, at most `columns` wide.
pub fn terminal(report: &Report, columns: usize) -> String {
    let name = report.rows.iter().map(|row| short(&row.name).chars().count()).max().unwrap_or(0);
    let width = columns.saturating_sub(name + 1).max(20);
    let axis = Axis::of(report);
    let at = |value: f64| (axis.place(value) * (width - 1) as f64).round() as usize;
    let mut text = String::new();
    for row in &report.rows {
        let mut cells = vec![' '; width];
        for (ends, mark) in [(row.family, '-'), (row.pointwise, '=')] {
            cells[at(ends[0])..=at(ends[1]).max(at(ends[0]))].fill(mark);
        }
        // Where a line crosses an interval it must stay visible: that is what the plot is for.
        for (line, free, crossed) in [(report.margin, ':', '%'), (Some(0.0), '|', '+')] {
            if let Some(place) = line.map(at) {
                cells[place] = if cells[place] == ' ' { free } else { crossed };
            }
        }
        cells[at(row.estimate)] = 'o';
        let cells: String = cells.into_iter().collect();
        let _ = writeln!(text, "{:name$} {}", short(&row.name), cells.trim_end());
    }
    let digits = Digits::of_range(axis.low, axis.high);
    let (low, high) = (digits.number(axis.low), digits.number(axis.high));
    let gap = width.saturating_sub(low.len() + high.len());
    let _ = writeln!(text, "{:name$} {low}{:gap$}{high}", "", "");
    let margin = if report.margin.is_some() { ", : or % margin" } else { "" };
    let _ = writeln!(text, "{:name$} o estimate, = pointwise, - family, | or + zero{margin}", "");
    text
}

const ROW: f64 = 26.0;
const LEFT: f64 = 200.0;
const PLOT: f64 = 360.0;
const WIDTH: f64 = 860.0;

/// The plot as a self-contained SVG document.
pub fn svg(report: &Report, title: &str) -> String {
    let axis = Axis::of(report);
    let x = |value: f64| LEFT + axis.place(value) * PLOT;
    let bottom = 50.0 + ROW * report.rows.len() as f64;
    let height = bottom + 50.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"22\" font-size=\"14\">{0}</text>\n",
        escape(title)
    );
    let mut vertical = |value: f64, colour: &str, dashes: &str, label: &str| {
        let _ = writeln!(
            text,
            "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"36\" y2=\"{bottom}\" stroke=\"{colour}\"{dashes}/>\n\
             <text x=\"{0:.1}\" y=\"{1}\" text-anchor=\"middle\" fill=\"{colour}\">{label}</text>",
            x(value),
            bottom + 32.0
        );
    };
    vertical(0.0, "#555", "", "0");
    if let Some(margin) = report.margin {
        let label = format!("margin {margin}");
        vertical(margin, "#b04000", " stroke-dasharray=\"4 3\"", &label);
    }
    for (index, row) in report.rows.iter().enumerate() {
        push_row(&mut text, row, 50.0 + ROW * index as f64 + ROW / 2.0, &x);
    }
    let digits = Digits::of_range(axis.low, axis.high);
    let _ = writeln!(
        text,
        "<line x1=\"{LEFT}\" x2=\"{0}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"black\"/>\n\
         <text x=\"{LEFT}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>\n\
         <text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{3}</text>\n</svg>",
        LEFT + PLOT,
        bottom + 16.0,
        digits.number(axis.low),
        digits.number(axis.high)
    );
    text
}

fn push_row(text: &mut String, row: &Row, y: f64, x: &impl Fn(f64) -> f64) {
    let digits = Digits::of(row);
    for (ends, thickness) in [(row.family, 1.5), (row.pointwise, 5.0)] {
        let _ = writeln!(
            text,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#20507a\" \
             stroke-width=\"{thickness}\"/>",
            x(ends[0]),
            x(ends[1])
        );
    }
    let _ = writeln!(
        text,
        "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"4\" fill=\"white\" stroke=\"#20507a\" stroke-width=\"2\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n<text x=\"{}\" y=\"{}\">{} {}</text>",
        x(row.estimate),
        LEFT - 12.0,
        y + 4.0,
        escape(&short(&row.name)),
        LEFT + PLOT + 16.0,
        y + 4.0,
        digits.number(row.estimate),
        digits.interval(row.family)
    );
}

fn escape(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contrast, FamilyParams, Layout, SourceTable};

    fn report() -> Report {
        let csv = "seed,a<b,c\n1,1,-2\n2,2,-1\n3,3,-3\n4,4,-1\n5,1,1\n";
        let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap();
        let contrasts = vec![Contrast::column("a<b"), Contrast::column("c")];
        FamilyParams::new(contrasts).check().unwrap().run(&table).unwrap()
    }

    #[test]
    fn the_terminal_plot_fits_and_marks_every_estimate() {
        let text = terminal(&report(), 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.lines().take(2).filter(|line| line.contains('o')).count(), 2);
    }

    #[test]
    fn svg_escapes_names() {
        let text = svg(&report(), "a & b");
        assert!(text.contains("a&lt;b") && text.contains("a &amp; b"), "{text}");
        assert!(!text.contains("NaN"), "{text}");
    }
}
