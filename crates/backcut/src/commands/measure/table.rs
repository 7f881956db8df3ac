//! Tables that a person reads at 80 columns, and numbers short enough for them.

use std::fmt::Write as _;

use backcut_measure::{Finding, PERCENTILES, definitions};

/// The widest line.
pub const WIDTH: usize = 80;

/// Findings to look values up in.
#[derive(Clone, Copy)]
pub struct Look<'a>(pub &'a [Finding]);

impl<'a> Look<'a> {
    /// The finding of a quantity, cut and part.
    pub fn find(self, quantity: &str, cut: &str, part: &str) -> Option<&'a Finding> {
        self.0.iter().find(|f| f.quantity == quantity && f.cut == cut && f.part == part)
    }

    /// Its value.
    pub fn value(self, quantity: &str, cut: &str, part: &str) -> Option<f64> {
        self.find(quantity, cut, part)?.value
    }

    /// As printed: the number, or a dash.
    pub fn cell(self, quantity: &str, cut: &str, part: &str) -> String {
        self.value(quantity, cut, part).map_or_else(|| "-".to_owned(), number)
    }

    /// Median with its percentiles, `0.907 [0.891, 0.922]`; the number alone where there are none.
    pub fn band(self, quantity: &str, cut: &str, part: &str) -> String {
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
    pub fn parts(self, quantity: &str, cut: &str) -> Vec<&'a str> {
        let mine = self.0.iter().filter(|f| f.quantity == quantity && f.cut == cut);
        let mut parts: Vec<&str> = Vec::new();
        for finding in mine {
            if !parts.contains(&finding.part.as_str()) {
                parts.push(&finding.part);
            }
        }
        parts
    }

    /// Distinct cuts of a quantity, in order.
    pub fn cuts(self, quantity: &str) -> Vec<&'a str> {
        let mut cuts: Vec<&str> = Vec::new();
        for finding in self.0.iter().filter(|f| f.quantity == quantity) {
            if !cuts.contains(&finding.cut.as_str()) {
                cuts.push(&finding.cut);
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

/// Rows of text under a head: the first column to the left, the others to the right.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column names.
    pub fn new<S: ToString>(head: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![head.into_iter().map(|h| h.to_string()).collect()] }
    }

    /// Adds a row.
    pub fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|c| c.to_string()).collect());
    }

    /// The text. Columns that do not fit 80 characters follow below, under their own heads.
    pub fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|c| c.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let mut out = String::new();
        let mut from = 1;
        while from < columns || from == 1 {
            let mut used = 2 + widths.first().copied().unwrap_or(0);
            let mut to = from;
            while to < columns && (to == from || used + 2 + widths[to] <= WIDTH) {
                used += 2 + widths[to];
                to += 1;
            }
            for row in &self.rows {
                let mut line = format!("  {:<1$}", row.first().map_or("", |c| c), widths[0]);
                for column in from..to {
                    let cell = row.get(column).map_or("", |c| c);
                    let _ = write!(line, "  {cell:>0$}", widths[column]);
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

/// Four significant digits; powers of ten only where plain digits would be long.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{value:.2e}")
    } else {
        // What rounds to the next power of ten is printed as that.
        let decimals = match size {
            s if s < 0.999_95 => 4,
            s if s < 9.9995 => 3,
            s if s < 99.995 => 2,
            s if s < 999.95 => 1,
            _ => 0,
        };
        format!("{value:.decimals$}")
    }
}

/// Words of a text on lines of at most [`WIDTH`] characters, all but the first indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    let words = text.trim_start();
    let mut out = text[..text.len() - words.len()].to_owned();
    let mut used = out.len();
    let mut is_first = true;
    for word in words.split(' ') {
        let len = word.chars().count();
        if !is_first && used + 1 + len > WIDTH {
            let _ = write!(out, "\n{:indent$}", "");
            used = indent;
        } else if !is_first {
            out.push(' ');
            used += 1;
        }
        is_first = false;
        out.push_str(word);
        used += len;
    }
    out + "\n"
}

/// What `--define` prints.
pub fn defined(measurement: &str) -> String {
    let widest = definitions(measurement).map(|d| d.quantity.len()).max().unwrap_or(0);
    let line = |d: &backcut_measure::Definition| {
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
    fn numbers_are_short() {
        let shown =
            [0.0, 0.999_99, 0.5, 0.012_345, 12.3456, 4311.62, 99_999.4, 1e5, -3.2e-7].map(number);
        let want =
            ["0", "1.000", "0.5000", "0.0123", "12.35", "4312", "99999", "1.00e5", "-3.20e-7"];
        assert_eq!(shown, want);
    }

    #[test]
    fn wide_tables_continue_below() {
        let mut table = Table::new(
            ["group".to_owned()].into_iter().chain((0..12).map(|i| format!("column{i}"))),
        );
        table.row(["x"; 13]);
        let text = table.text();
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        for i in 0..12 {
            assert!(text.contains(&format!("column{i}")), "{text}");
        }
        assert_eq!(Table::new(["alone"]).text(), "  alone\n");
    }

    #[test]
    fn definitions_fit() {
        for measurement in ["gradient", "update", "chain", "cost", "memory", "probe", "analytic"] {
            let text = defined(measurement);
            assert!(text.lines().count() > 3);
            assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        }
    }
}
