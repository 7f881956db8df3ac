//! A report as plain text that fits 80 columns and can be pasted into an appendix, or a wider
//! terminal.
//!
//! Estimates and tests are two stacked tables: side by side they would not fit, and they answer
//! different questions. Digits follow the interval's width (three digits of it), because more would
//! report noise and fewer would hide it.

use std::fmt::Write as _;

use backcut_text::format::{Digits, p_value};
use backcut_text::{COLUMNS, counted, escape, shortened, wrapped};

use crate::family::{Bound, FamilyRow, Report};
use crate::forest::{self, name_width};
use crate::signflip::TIE_TOLERANCE;
use crate::table::{Cell, SourceTable};

/// Cells that are listed one by one.
const LISTED: usize = 40;

/// For who asked nothing: an example to type, which `typed` puts into the user's own language, and
/// the cells of the table.
pub fn what_to_ask(table: &SourceTable, typed: impl Fn(&str) -> String) -> String {
    let cells: Vec<&str> = table.cell_names().collect();
    let numbers = |name: &str| {
        let cell = table.cell(name).unwrap_or_default();
        cell.iter().filter(|c| matches!(c, Cell::Number(_))).count()
    };
    let sources = table.sources().len();
    let is_whole = |name: &&&str| numbers(name) == sources;
    let whole: Vec<String> = cells.iter().filter(is_whole).map(|c| escape::plain(c)).collect();
    let example = match whole.as_slice() {
        [a, b, ..] => format!("\"difference = [{b}] - [{a}]\""),
        [a] => format!("\"mean = [{a}]\""),
        [] => "\"[a] - [b]\"".to_owned(),
    };
    let mut out = format!("give {}; there are {}", typed(&example), counted(sources, "source"));
    out += " with numbers in";
    for name in cells.iter().take(LISTED) {
        out += &format!("\n  [{}]  {} of them", escape::plain(name), numbers(name));
    }
    if cells.len() > LISTED {
        out += &format!("\n  and {} cells more", cells.len() - LISTED);
    }
    out
}

/// The whole report: contrasts, estimates, tests, forest plot, reasons, notes.
pub fn render(report: &Report, title: &str) -> String {
    render_in(report, title, COLUMNS)
}

/// The same for a terminal of so many columns; less than 80 are taken as 80.
pub fn render_in(report: &Report, title: &str, columns: usize) -> String {
    let columns = columns.max(COLUMNS);
    let mut text = String::new();
    let sections = [
        heading(report, title, columns),
        estimates(report, columns),
        tests(report, columns),
        forest::terminal(report, columns),
        reasons(report, columns),
        footer(report, columns),
    ];
    for section in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&section);
    }
    text
}

fn heading(report: &Report, title: &str, columns: usize) -> String {
    let mut text = String::new();
    let mut line = format!("{title}: {}", counted(report.sources, "source"));
    if report.unit_name == "clusters" {
        let _ = write!(line, " in {}", counted(report.units, "cluster"));
    }
    let _ = write!(
        line,
        ", {}, family of {} at {}",
        counted(report.rows.len(), "contrast"),
        report.family_size,
        report.alpha
    );
    if let Some(margin) = report.margin {
        let _ = write!(line, ", noninferiority margin {margin}");
    }
    text += &wrapped(&line, columns, 0);
    text.push_str(match report.bound {
        Bound::TwoSided => "deciding endpoints: two-sided simultaneous, at alpha / (2M)\n",
        Bound::OneSided => "deciding endpoints: one-sided, at alpha / M\n",
    });
    for row in &report.rows {
        let direction = match row.direction {
            Some(crate::contrast::Direction::Positive) => " > 0 predicted",
            Some(crate::contrast::Direction::Negative) => " < 0 predicted",
            None => "",
        };
        let line = format!("  {} = {}{direction}", row.name, row.expression);
        text += &wrapped(&line, columns, 6);
    }
    text
}

fn estimates(report: &Report, columns: usize) -> String {
    let level =
        format!("{}% interval", trim_zeros(&format!("{:.1}", 100.0 * (1.0 - report.alpha))));
    let family = match report.bound {
        Bound::TwoSided => format!("family (M = {})", report.family_size),
        Bound::OneSided => format!("one-sided (M = {})", report.family_size),
    };
    let name = name_width(report, columns);
    let mut text = format!("{:name$} {:>11}  {level:<23}  {family}\n", "contrast", "estimate");
    for row in &report.rows {
        let digits = digits_of(row);
        let _ = writeln!(
            text,
            "{:name$} {:>11}  {:<23}  {}",
            shortened(&row.name, name),
            digits.number(row.estimate),
            digits.interval(row.pointwise),
            digits.interval(row.family)
        );
    }
    text
}

fn tests(report: &Report, columns: usize) -> String {
    let name = name_width(report, columns);
    let agree = if report.margin.is_some() { "below" } else { "agree" };
    let fixed = format!(
        "{:name$} {agree:>7} {:>8} {:>8} {:<12} ",
        "contrast", "exact p", "adj. p", "status"
    );
    let indent = fixed.chars().count();
    let mut text = format!("{fixed}verdict\n");
    for row in &report.rows {
        let line = format!(
            "{:name$} {:>7} {:>8} {:>8} {:<12} ",
            shortened(&row.name, name),
            format!("{}/{}", row.agreeing, row.n),
            p_value(row.exact.p),
            p_value(row.adjusted_p),
            row.status,
        );
        text += &wrapped(&format!("{line}{}", row.verdict), columns, indent);
    }
    text
}

fn reasons(report: &Report, columns: usize) -> String {
    let mut text = String::new();
    for row in &report.rows {
        let line = format!("{}: {}; {}.", row.name, row.verdict, row.reason);
        text += &wrapped(&line, columns, 2);
        let digits = digits_of(row);
        let out = &row.leave_one_out;
        let mut detail = format!(
            "  without any one of them: {} to {}",
            digits.number(out.min),
            digits.number(out.max)
        );
        if let (Some(p), true) = (row.sign_test_p, row.agreeing + row.at == row.n) {
            let _ = write!(detail, "; all agree, sign test p {}", p_value(p));
        }
        text += &wrapped(&detail, columns, 2);
    }
    text
}

fn footer(report: &Report, columns: usize) -> String {
    let mut text = String::new();
    for note in &report.notes {
        text += &wrapped(&format!("note: {note}"), columns, 6);
    }
    if report.draws == 0 {
        return text;
    }
    text += &wrapped(
        &format!(
            "{} draws of whole {}, seed {}, {}; percentile intervals by linear interpolation; \
             sign-flip ties within {TIE_TOLERANCE:e} of the sum of absolute values.",
            report.draws, report.unit_name, report.seed, report.generator
        ),
        columns,
        0,
    );
    text
}

/// Three digits of the pointwise interval's width.
fn digits_of(row: &FamilyRow) -> Digits {
    Digits::of_range(row.pointwise[0], row.pointwise[1])
}

fn trim_zeros(number: &str) -> &str {
    number.strip_suffix(".0").unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::NAME;
    use crate::{Contrast, FamilyParams, Layout, SourceTable};

    /// A whole report, to the letter.
    #[test]
    fn a_report_reads_as_it_was_written_down() {
        let csv = "seed,a,b\n1,1.5,-2\n2,2.25,-1\n3,3,-3\n4,4,-1\n5,1,1\n6,0.5,-0.5\n";
        let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap();
        let contrasts =
            ["up = [a] > 0", "[b] < 0", "a name that is longer than any column = [a]-[b]"];
        let contrasts = contrasts.map(|text| Contrast::parse(text).unwrap()).to_vec();
        let report = FamilyParams::new(contrasts).check().unwrap().run(&table).unwrap();
        let text = render(&report, "table.csv");
        assert_eq!(text, include_str!("../tests/data/report.txt"), "{text}");
        let wide = render_in(&report, "table.csv", 140);
        let longest = wide.lines().map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|longest| (100..=140).contains(&longest)), "{wide}");
        assert!(
            wide.contains("\na name that is longer than any column "),
            "names have room: {wide}"
        );
        assert_eq!(render_in(&report, "table.csv", 20), text, "never narrower than a page");
    }

    #[test]
    fn a_name_is_cut_only_if_it_is_too_long() {
        let name = |length: usize| "é".repeat(length);
        assert_eq!(shortened(&name(NAME), NAME), name(NAME));
        assert_eq!(shortened(&name(NAME + 1), NAME), name(NAME - 1) + "…");
        assert_eq!(trim_zeros("95.0"), "95");
        assert_eq!(trim_zeros("97.5"), "97.5");
    }
}
