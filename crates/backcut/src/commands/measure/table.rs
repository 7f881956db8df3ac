//! Tables that a person reads at 80 columns or at a wider terminal, and numbers short enough for
//! them.

use std::fmt::Write as _;

use backcut_lab::measure::{ALL, Finding, Of, PERCENTILES, definitions};

use crate::look;

/// Findings to look values up in.
#[derive(Clone, Copy)]
pub struct Look<'a>(pub &'a [Finding]);

impl<'a> Look<'a> {
    /// The finding of a quantity, cut and part.
    pub fn find<W: Copy>(self, quantity: &str, cut: W, part: &str) -> Option<&'a Finding>
    where
        Of: PartialEq<W>,
    {
        self.0.iter().find(|f| f.quantity == quantity && f.of == cut && f.part == part)
    }

    /// Its value.
    pub fn value<W: Copy>(self, quantity: &str, cut: W, part: &str) -> Option<f64>
    where
        Of: PartialEq<W>,
    {
        self.find(quantity, cut, part)?.value
    }

    /// As printed: the number, or a dash.
    pub fn cell<W: Copy>(self, quantity: &str, cut: W, part: &str) -> String
    where
        Of: PartialEq<W>,
    {
        self.value(quantity, cut, part).map_or_else(|| "-".to_owned(), number)
    }

    /// Median with its percentiles, `0.907 [0.891, 0.922]`; the number alone where there are none.
    pub fn band<W: Copy>(self, quantity: &str, cut: W, part: &str) -> String
    where
        Of: PartialEq<W>,
    {
        let of = |suffix: &str| self.value(&format!("{quantity}{suffix}"), cut, part);
        let median = self.cell(quantity, cut, part);
        match (of(".p16"), of(".p84")) {
            (Some(low), Some(high)) => format!("{median} [{}, {}]", number(low), number(high)),
            _ => median,
        }
    }

    /// Whether the values are medians over windows or states.
    pub fn has_bands(self) -> bool {
        self.0.iter().any(|f| f.quantity.strip_suffix(PERCENTILES[1].0).is_some())
    }

    /// Distinct parts of a quantity, in order.
    pub fn parts<W: Copy>(self, quantity: &str, cut: W) -> Vec<&'a str>
    where
        Of: PartialEq<W>,
    {
        let mine = self.0.iter().filter(|f| f.quantity == quantity && f.of == cut);
        let mut parts: Vec<&str> = Vec::new();
        for finding in mine {
            if !parts.contains(&finding.part.as_str()) {
                parts.push(&finding.part);
            }
        }
        parts
    }

    /// Distinct cuts of a quantity, in order.
    pub fn cuts(self, quantity: &str) -> Vec<&'a Of> {
        let mut cuts: Vec<&Of> = Vec::new();
        for finding in self.0.iter().filter(|f| f.quantity == quantity) {
            if !cuts.contains(&&finding.of) {
                cuts.push(&finding.of);
            }
        }
        cuts
    }

    /// One line per reason why a value of these quantities is missing.
    pub fn reasons(self, quantities: &[&str]) -> String {
        let mut notes: Vec<&str> = Vec::new();
        let missing = |f: &&Finding| f.value.is_none() && quantities.contains(&&*f.quantity);
        for finding in self.0.iter().filter(missing) {
            if !notes.contains(&finding.note.as_str()) {
                notes.push(&finding.note);
            }
        }
        notes
            .into_iter()
            .fold(String::new(), |out, note| out + &wrapped(&format!("  -: {note}"), 5))
    }
}

/// What the cells of a row are of.
pub struct Row {
    name: String,
    /// The first half of its quantities' names; empty where columns have them whole.
    prefix: &'static str,
    of: Of,
    part: String,
}

impl Row {
    /// A row of its own.
    pub fn new(
        name: impl Into<String>,
        prefix: &'static str,
        of: impl Into<Of>,
        part: &str,
    ) -> Self {
        Self { name: name.into(), prefix, of: of.into(), part: part.to_owned() }
    }

    /// A row per cut, of the whole.
    pub fn of_cuts(prefix: &'static str, cuts: &[&Of]) -> Vec<Self> {
        cuts.iter().map(|of| Self::new(of.to_string(), prefix, *of, ALL)).collect()
    }

    /// A row per part.
    pub fn of_parts(of: &Of, parts: &[&str]) -> Vec<Self> {
        parts.iter().map(|part| Self::new(*part, "", of, part)).collect()
    }
}

/// How a cell is written.
pub type Form = fn(Look, &str, &Of, &str) -> String;

/// A column: its head, and what it shows of a row.
pub struct Column<'c> {
    head: &'c str,
    quantity: &'c str,
    /// Of what, where that is not the row's.
    of: Option<&'c Of>,
    form: Form,
}

impl<'c> Column<'c> {
    /// Medians with their percentiles.
    pub const fn new(head: &'c str, quantity: &'c str) -> Self {
        Self::formed(head, quantity, |look, quantity, of, part| look.band(quantity, of, part))
    }

    /// Medians alone.
    pub const fn plain(head: &'c str, quantity: &'c str) -> Self {
        Self::formed(head, quantity, |look, quantity, of, part| look.cell(quantity, of, part))
    }

    /// Medians alone; nothing where nothing was to be measured.
    pub const fn sparse(head: &'c str, quantity: &'c str) -> Self {
        Self::formed(head, quantity, |look, quantity, of, part| {
            let found = look.find(quantity, of, part);
            found.map_or_else(String::new, |_| look.cell(quantity, of, part))
        })
    }

    /// In a form of its own.
    pub const fn formed(head: &'c str, quantity: &'c str, form: Form) -> Self {
        Self { head, quantity, of: None, form }
    }

    /// Of the same cuts in every row.
    pub const fn of(self, of: &'c Of) -> Self {
        Self { of: Some(of), ..self }
    }
}

/// Findings as a table.
pub fn sheet(look: Look, first: &str, rows: &[Row], columns: &[Column]) -> String {
    let mut table = Table::new([first].into_iter().chain(columns.iter().map(|c| c.head)));
    for row in rows {
        let cell = |column: &Column| {
            let quantity = [row.prefix, column.quantity].concat();
            (column.form)(look, &quantity, column.of.unwrap_or(&row.of), &row.part)
        };
        table.row([row.name.clone()].into_iter().chain(columns.iter().map(cell)));
    }
    table.text()
}

/// One row per part, one column per cut.
pub fn by_part(look: Look, quantity: &str, cuts: &[&Of]) -> String {
    let Some(first) = cuts.first() else { return String::new() };
    let names: Vec<String> = cuts.iter().map(ToString::to_string).collect();
    let columns = names.iter().zip(cuts);
    let columns = columns.map(|(name, cut)| Column::plain(name, quantity).of(cut));
    let columns: Vec<Column> = columns.collect();
    sheet(look, "group", &Row::of_parts(first, &look.parts(quantity, *first)), &columns)
}

/// Rows of text under a head: the first column to the left, the others to the right.
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Columns of words go to the left too.
    has_words: bool,
}

impl Table {
    /// A table with these column names.
    pub fn new<S: ToString>(head: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![head.into_iter().map(|h| h.to_string()).collect()], has_words: false }
    }

    /// A table in which other columns than the first may hold words.
    pub fn of_words<S: ToString>(head: impl IntoIterator<Item = S>) -> Self {
        Self { has_words: true, ..Self::new(head) }
    }

    /// How wide all columns beside each other are.
    fn width(&self) -> usize {
        let columns = self.rows.first().map_or(0, Vec::len);
        (0..columns).map(|column| 2 + self.widest(column)).sum()
    }

    fn widest(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|c| c.chars().count()).max().unwrap_or(0)
    }

    /// Rows of words that are too long for columns: each under its first cell, one cell per line.
    fn records(&self, available: usize) -> String {
        let Some((head, rows)) = self.rows.split_first() else { return String::new() };
        let name = head.iter().skip(1).map(|h| h.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        for row in rows {
            let first = row.first().map_or("", String::as_str);
            out += &backcut_text::wrapped(&format!("  {first}"), available, 4);
            for (head, cell) in head.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty()) {
                out += &backcut_text::wrapped(
                    &format!("    {head:<name$}  {cell}"),
                    available,
                    name + 6,
                );
            }
        }
        out
    }

    /// Whether a column goes to the left.
    fn is_left(&self, column: usize) -> bool {
        let is_number = |cell: &String| {
            cell.is_empty()
                || cell.starts_with(|c: char| c.is_ascii_digit() || "+-\u{2212}".contains(c))
        };
        let cells = || self.rows.iter().skip(1).filter_map(|row| row.get(column));
        column == 0 || self.has_words && !cells().all(is_number)
    }

    /// Adds a row.
    pub fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|c| c.to_string()).collect());
    }

    /// The text. Columns that do not fit the terminal's width follow below, under their own heads.
    pub fn text(&self) -> String {
        let available = look::columns();
        if self.has_words && self.width() > available {
            return self.records(available);
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.widest(column)).collect();
        let mut out = String::new();
        let mut from = 1;
        while from < columns || from == 1 {
            let mut used = 2 + widths.first().copied().unwrap_or(0);
            let mut to = from;
            while to < columns && (to == from || used + 2 + widths[to] <= available) {
                used += 2 + widths[to];
                to += 1;
            }
            for row in &self.rows {
                let mut line = format!("  {:<1$}", row.first().map_or("", |c| c), widths[0]);
                for column in from..to {
                    let cell = row.get(column).map_or("", |c| c);
                    let width = widths[column];
                    let _ = if self.is_left(column) {
                        write!(line, "  {cell:<width$}")
                    } else {
                        write!(line, "  {cell:>width$}")
                    };
                }
                out.push_str(line.trim_end());
                out.push('\n');
            }
            if to >= columns {
                break;
            }
            from = to;
        }
        out
    }
}

pub use backcut_text::format::column as number;

/// Words of a text on lines that fit the terminal, all but the first indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    backcut_text::wrapped(text, look::columns(), indent)
}

/// What `--define` prints.
pub fn defined(measurement: &str) -> String {
    let widest = definitions(measurement).map(|d| d.quantity.len()).max().unwrap_or(0);
    let line = |d: &backcut_lab::measure::Definition| {
        wrapped(&format!("{:<widest$}  {}", d.quantity, d.text), widest + 2)
    };
    let mut out: String = definitions(measurement).map(line).collect();
    out += &wrapped(
        "Over several windows or states a quantity is its median, with .p16 and .p84 beside it.",
        0,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_tables_continue_below() {
        let mut table = Table::new(
            ["group".to_owned()].into_iter().chain((0..12).map(|i| format!("column{i}"))),
        );
        table.row(["x"; 13]);
        let text = table.text();
        assert!(text.lines().all(|l| l.chars().count() <= look::columns()), "{text}");
        for i in 0..12 {
            assert!(text.contains(&format!("column{i}")), "{text}");
        }
        assert_eq!(Table::new(["alone"]).text(), "  alone\n");
    }

    #[test]
    fn rows_of_long_words_stand_one_below_the_other() {
        let mut table = Table::of_words(["study", "why", "n"]);
        table.row(["a", "short", "3"]);
        assert_eq!(table.text(), "  study  why    n\n  a      short  3\n");
        table.row(["b", &"word ".repeat(30), "4"]);
        let text = table.text();
        assert!(text.starts_with("  a\n    why  short\n    n    3\n  b\n    why  word"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= look::columns()), "{text}");
    }

    #[test]
    fn definitions_fit() {
        for measurement in ["gradient", "update", "chain", "cost", "memory", "probe", "analytic"] {
            let text = defined(measurement);
            assert!(text.lines().count() > 3);
            assert!(text.lines().all(|l| l.chars().count() <= look::columns()), "{text}");
        }
    }
}
