//! A report as plain text that fits 80 columns and can be pasted into an appendix.
//!
//! Estimates and tests are two stacked tables: side by side they would not fit, and they answer different
//! questions. Digits follow the interval's width (three digits of it), because more would
//! report noise and fewer would hide it.

use std::fmt::Write as _;

use crate::family::{Bound, Report, Row};
use crate::forest;
use crate::signflip::TIE_TOLERANCE;

/// The width that everything fits.
pub const COLUMNS: usize = 80;

/// The longest name a table shows; the full one stands in the list of contrasts.
const NAME: usize = 18;

/// The whole report: contrasts, estimates, tests, forest plot, reasons, notes.
pub fn render(report: &Report, title: &str) -> String {
    let mut text = String::new();
    let sections = [
        heading(report, title),
        estimates(report),
        tests(report),
        forest::terminal(report, COLUMNS),
        reasons(report),
        footer(report),
    ];
    for section in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&section);
    }
    text
}

fn heading(report: &Report, title: &str) -> String {
    let mut text = String::new();
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let mut line = format!("{title}: {}", plural(report.sources, "source"));
    if report.unit_name == "clusters" {
        let _ = write!(line, " in {}", plural(report.units, "cluster"));
    }
    let _ = write!(
        line,
        ", {}, family of {} at {}",
        plural(report.rows.len(), "contrast"),
        report.family_size,
        report.alpha
    );
    if let Some(margin) = report.margin {
        let _ = write!(line, ", noninferiority margin {margin}");
    }
    push_wrapped(&mut text, &line, 0);
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
        push_wrapped(&mut text, &format!("  {} = {}{direction}", row.name, row.expression), 6);
    }
    text
}

fn estimates(report: &Report) -> String {
    let level =
        format!("{}% interval", trim_zeros(&format!("{:.1}", 100.0 * (1.0 - report.alpha))));
    let family = match report.bound {
        Bound::TwoSided => format!("family (M = {})", report.family_size),
        Bound::OneSided => format!("one-sided (M = {})", report.family_size),
    };
    let name = name_width(report);
    let mut text = format!("{:name$} {:>11}  {level:<23}  {family}\n", "contrast", "estimate");
    for row in &report.rows {
        let digits = Digits::of(row);
        let _ = writeln!(
            text,
            "{:name$} {:>11}  {:<23}  {}",
            short(&row.name),
            digits.number(row.estimate),
            digits.interval(row.pointwise),
            digits.interval(row.family)
        );
    }
    text
}

fn tests(report: &Report) -> String {
    let name = name_width(report);
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
            short(&row.name),
            format!("{}/{}", row.agreeing, row.n),
            p_value(row.exact.p),
            p_value(row.adjusted_p),
            row.status,
        );
        push_wrapped(&mut text, &format!("{line}{}", row.verdict), indent);
    }
    text
}

fn reasons(report: &Report) -> String {
    let mut text = String::new();
    for row in &report.rows {
        push_wrapped(&mut text, &format!("{}: {}; {}.", row.name, row.verdict, row.reason), 2);
        let digits = Digits::of(row);
        let out = &row.leave_one_out;
        let mut detail = format!(
            "  without any one of them: {} to {}",
            digits.number(out.min),
            digits.number(out.max)
        );
        if let (Some(p), true) = (row.sign_test_p, row.agreeing + row.at == row.n) {
            let _ = write!(detail, "; all agree, sign test p {}", p_value(p));
        }
        push_wrapped(&mut text, &detail, 2);
    }
    text
}

fn footer(report: &Report) -> String {
    let mut text = String::new();
    for note in &report.notes {
        push_wrapped(&mut text, &format!("note: {note}"), 6);
    }
    push_wrapped(
        &mut text,
        &format!(
            "{} draws of whole {}, seed {}, {}; percentile intervals by linear interpolation; \
             sign-flip ties within {TIE_TOLERANCE:e} of the sum of absolute values.",
            report.draws, report.unit_name, report.seed, report.generator
        ),
        0,
    );
    text
}

/// A p-value: three decimals, or an exponent when that would read zero.
pub fn p_value(p: f64) -> String {
    if p >= 0.001 { format!("{p:.3}") } else { format!("{p:.1e}") }
}

/// How a row's numbers are printed: decimals or mantissa digits, the same for all of them.
#[derive(Clone, Copy, Debug)]
pub struct Digits {
    decimals: usize,
    scientific: bool,
}

impl Digits {
    /// Three digits of the pointwise interval's width.
    pub fn of(row: &Row) -> Self {
        Self::of_range(row.pointwise[0], row.pointwise[1])
    }

    /// Three digits of a range.
    pub fn of_range(low: f64, high: f64) -> Self {
        let width = (high - low).abs();
        let largest = low.abs().max(high.abs());
        let reference = if width > 0.0 { width } else { largest };
        if reference == 0.0 {
            return Self { decimals: 3, scientific: false };
        }
        let decimals = 2.0 - reference.log10().floor();
        let scientific = largest >= 1e7 || decimals > 7.0;
        let decimals = if scientific { 3 } else { decimals.max(0.0) as usize };
        Self { decimals, scientific }
    }

    /// A number.
    pub fn number(self, value: f64) -> String {
        let decimals = self.decimals;
        if self.scientific { format!("{value:.decimals$e}") } else { format!("{value:.decimals$}") }
    }

    /// An interval.
    pub fn interval(self, ends: [f64; 2]) -> String {
        format!("[{}, {}]", self.number(ends[0]), self.number(ends[1]))
    }
}

fn name_width(report: &Report) -> usize {
    let longest = report.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    longest.clamp(8, NAME)
}

/// A name cut to the table's width.
pub(crate) fn short(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

fn trim_zeros(number: &str) -> &str {
    number.strip_suffix(".0").unwrap_or(number)
}

/// Appends a line broken at spaces so that it fits; later lines are indented.
fn push_wrapped(text: &mut String, line: &str, indent: usize) {
    let mut used = 0;
    // Leading spaces and table padding must survive, so words keep the spaces before them.
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if used > indent && used + length > COLUMNS {
            while text.ends_with(' ') {
                text.pop();
            }
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        }
        text.push_str(word);
        used += word.chars().count();
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_padding_and_width() {
        let mut text = String::new();
        push_wrapped(&mut text, &format!("name      {}", "word ".repeat(40)), 10);
        for line in text.lines() {
            assert!(line.trim_end().chars().count() <= COLUMNS, "{line}");
            assert!(line.starts_with("name      ") || line.starts_with("          "));
        }
    }

    #[test]
    fn digits_follow_the_width() {
        assert_eq!(
            Digits::of_range(0.000_152, 0.000_942).interval([0.000_152, 0.000_942]),
            "[0.000152, 0.000942]"
        );
        assert_eq!(
            Digits::of_range(-17_801.2, 11_966.1).interval([-17_801.2, 11_966.1]),
            "[-17801, 11966]"
        );
        assert_eq!(Digits::of_range(0.0060, 0.0254).number(0.015_144), "0.0151");
        assert_eq!(Digits::of_range(1e-9, 2e-9).number(1.5e-9), "1.500e-9");
        assert_eq!(Digits::of_range(0.0, 0.0).number(0.0), "0.000");
    }

    #[test]
    fn p_values_never_read_zero() {
        assert_eq!(p_value(0.0469), "0.047");
        assert_eq!(p_value(2.0 / 65536.0), "3.1e-5");
        assert_eq!(p_value(1.0), "1.000");
    }
}
