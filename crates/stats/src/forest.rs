//! Forest plots in the terminal.
//!
//! One row per contrast on a shared axis: the pointwise interval is the thick part, the family's
//! endpoints the thin one, the estimate a mark; zero and the margin are vertical lines.

use std::fmt::Write as _;

use backcut_text::format::Digits;
use backcut_text::{COLUMNS, shortened};

use crate::family::{FamilyRow, Report};

/// The longest name a table of 80 columns shows; the full one stands in the list of contrasts.
pub(crate) const NAME: usize = 18;

/// How wide the column of names is: as the longest, as far as there is room beside the tests.
pub(crate) fn name_width(report: &Report, columns: usize) -> usize {
    let longest = report.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    longest.clamp(8, NAME + columns.saturating_sub(COLUMNS) / 2)
}

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
    let most = name_width(report, columns);
    let short = |row: &FamilyRow| shortened(&row.name, most);
    let name = report.rows.iter().map(|row| short(row).chars().count()).max().unwrap_or(0);
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
        let _ = writeln!(text, "{:name$} {}", short(row), cells.trim_end());
    }
    let digits = Digits::of_range(axis.low, axis.high);
    let (low, high) = (digits.number(axis.low), digits.number(axis.high));
    let gap = width.saturating_sub(low.len() + high.len());
    let _ = writeln!(text, "{:name$} {low}{:gap$}{high}", "", "");
    let margin = if report.margin.is_some() { ", : or % margin" } else { "" };
    let _ = writeln!(text, "{:name$} o estimate, = pointwise, - family, | or + zero{margin}", "");
    text
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

    /// From -2.24 to 10.24 in 26 columns, about half a unit each.
    #[test]
    fn intervals_marks_and_lines_stand_where_their_values_are() {
        let mut report = report();
        report.margin = Some(10.0);
        let [first, second] = &mut report.rows[..] else { panic!("two rows") };
        (first.estimate, first.pointwise, first.family) = (4.6, [3.9, 6.2], [2.0, 8.0]);
        (second.estimate, second.pointwise, second.family) = (1.0, [-1.5, 1.9], [-2.0, 10.0]);
        let want = "\
a<b     |   ----==o===----   :
c   -===+=o==----------------%
    -2.2                  10.2
    o estimate, = pointwise, - family, | or + zero, : or % margin
";
        assert_eq!(terminal(&report, 30), want);
    }

    #[test]
    fn nothing_but_zeros_has_an_axis_too() {
        let mut report = report();
        for row in &mut report.rows {
            (row.estimate, row.pointwise, row.family) = (0.0, [0.0; 2], [0.0; 2]);
        }
        let axis = Axis::of(&report);
        assert_eq!((axis.low, axis.high), (-1.0, 1.0));
        let places = [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0].map(|value| axis.place(value));
        assert_eq!(places, [0.0, 0.0, 0.5, 0.75, 1.0, 1.0]);
    }
}
