//! A table in three formats; every cell passes its format's escape.

use std::fmt::Write as _;

use super::Table;
use crate::report::escape::{latex, markdown, xml};

/// How a table is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A `table` element.
    Html,
    /// A pipe table.
    Markdown,
    /// A `tabular` with booktabs rules, no wider than the line; a `longtable` where it is longer
    /// than a page.
    Latex,
}

/// Rows that fit a page of LaTeX; longer tables go on over pages.
const PAGE_ROWS: usize = 40;
/// Small letters that fit a line of a paper in one column.
const LINE_CHARS: f64 = 75.0;
/// Columns up to this width are not broken.
const SHORT_CHARS: f64 = 14.0;

/// Keeps an interval and its unit on one line; what follows may go to the next.
fn unbroken(cell: &str) -> String {
    let numbers =
        |text: &str| text.chars().all(|c| c.is_ascii_digit() || ".,e \u{2212}".contains(c));
    match cell.split_once('[').and_then(|(mean, rest)| Some((mean, rest.split_once(']')?))) {
        Some((mean, (ends, after))) if numbers(ends) => {
            let words = after.strip_prefix(' ').unwrap_or(after);
            let (unit, rest) =
                after.split_at(after.len() - words.find(' ').map_or(0, |at| words.len() - at));
            format!("{mean}<span class=\"nb\">[{ends}]{unit}</span>{rest}")
        }
        _ => cell.to_owned(),
    }
}

impl Table {
    /// Writes the table.
    pub fn write(&self, format: Format) -> String {
        match format {
            Format::Html => self.html(),
            Format::Markdown => self.markdown(),
            Format::Latex => self.latex(),
        }
    }

    pub(crate) fn html(&self) -> String {
        let mut out = format!(
            "<table id=\"table-{}\">\n<caption>{}</caption>\n<thead><tr>",
            xml(&self.name),
            xml(&self.title)
        );
        for column in &self.columns {
            let _ = write!(out, "<th scope=\"col\">{}</th>", xml(column));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (cell, column) in row.iter().zip(&self.columns) {
                let label = if column.is_empty() {
                    String::new()
                } else {
                    format!(" data-l=\"{}\"", xml(column))
                };
                let _ = write!(out, "<td{label}>{}</td>", unbroken(&xml(cell)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table>\n");
        for note in &self.notes {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", xml(note));
        }
        out
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| markdown(c)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut out = format!("**{}**\n\n", markdown(&self.title));
        out += &line(&self.columns);
        let _ = writeln!(out, "|{}", " --- |".repeat(self.columns.len()));
        for row in &self.rows {
            out += &line(row);
        }
        out.push('\n');
        for note in &self.notes {
            let _ = writeln!(out, "{}\n", markdown(note));
        }
        out
    }

    fn latex(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| latex(c)).collect();
            format!("{} \\\\\n", cells.join(" & "))
        };
        let (columns, caption) = (self.latex_columns(), latex(&self.title));
        let head = line(&self.columns);
        let mut out = if self.rows.len() > PAGE_ROWS {
            format!(
                "% \\usepackage{{array, booktabs, \
                 longtable}}\n\\begingroup\\small\n\\begin{{longtable}}{{{columns}}}\n\\caption{{{caption}}} \\\\\n\\toprule\n{head}\\midrule\n\\endhead\n"
            )
        } else {
            format!(
                "% \\usepackage{{array, \
                 booktabs}}\n\\begin{{table}}\n\\small\n\\caption{{{caption}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\\midrule\n"
            )
        };
        for row in &self.rows {
            out += &line(row);
        }
        out += if self.rows.len() > PAGE_ROWS {
            "\\bottomrule\n\\end{longtable}\n\\endgroup\n"
        } else {
            "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
        };
        for note in &self.notes {
            let _ = writeln!(out, "% {}", latex(note));
        }
        out
    }

    /// Columns of LaTeX that fit a line: as wide as they are where all of them fit, or else shares
    /// of the line. Short columns then get what they need and the long ones the rest, by the square
    /// root of their longest cells.
    fn latex_columns(&self) -> String {
        let cells = |at: usize| self.rows.iter().filter_map(move |row| row.get(at));
        let widest = |at: usize| {
            let head = self.columns.get(at).into_iter();
            head.chain(cells(at)).map(|cell| cell.chars().count()).max().unwrap_or(0).max(3) as f64
        };
        let widths: Vec<f64> = (0..self.columns.len()).map(widest).collect();
        let is_number =
            |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '\u{2212}');
        let needs: f64 = widths.iter().map(|width| width + 2.0).sum();
        if needs <= LINE_CHARS {
            let of = |at: usize| if at > 0 && cells(at).all(is_number) { "r" } else { "l" };
            return (0..self.columns.len()).map(of).collect();
        }
        let is_short = |width: f64| width <= SHORT_CHARS;
        let share = |width: f64| (width + 2.0) / LINE_CHARS;
        let short: f64 = widths.iter().filter(|w| is_short(**w)).map(|w| share(*w)).sum();
        let long: f64 = widths.iter().filter(|w| !is_short(**w)).map(|w| w.sqrt()).sum();
        // An empty sum is minus zero: nothing is divided by it.
        let scale = match (short > 0.0, long > 0.0) {
            (true, true) => (0.5 / short).min(1.0),
            (true, false) => 1.0 / short,
            (false, _) => 1.0,
        };
        let rest = 1.0 - scale * short;
        let column = |width: &f64| {
            let share =
                if is_short(*width) { scale * share(*width) } else { rest * width.sqrt() / long };
            // rounded down, so that the sum stays on the line
            let down = (1e4 * share).floor() / 1e4;
            format!(
                ">{{\\raggedright\\arraybackslash}}p{{\\dimexpr \
                 {down:.4}\\linewidth-2\\tabcolsep\\relax}}"
            )
        };
        widths.iter().map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cells: &[&str], rows: usize) -> Table {
        let row: Vec<String> = cells.iter().map(ToString::to_string).collect();
        let (name, title) = ("t".to_owned(), "T".to_owned());
        let columns = cells.iter().map(|_| "head".to_owned()).collect();
        Table { name, title, columns, rows: vec![row; rows], notes: Vec::new(), csv: String::new() }
    }

    #[test]
    fn an_interval_keeps_its_unit_and_lets_words_go() {
        assert_eq!(
            unbroken("1.2 [1.0, 1.4] km\u{b2} (n = 8)"),
            "1.2 <span class=\"nb\">[1.0, 1.4] km\u{b2}</span> (n = 8)"
        );
        assert_eq!(
            unbroken("1.2 [1.0, 1.4]; both"),
            "1.2 <span class=\"nb\">[1.0, 1.4];</span> both"
        );
        assert_eq!(unbroken("1.2 [1.0, 1.4]%"), "1.2 <span class=\"nb\">[1.0, 1.4]%</span>");
        assert_eq!(unbroken("seen [twice]"), "seen [twice]");
    }

    /// The shares of the line that the columns take.
    fn shares(table: &Table) -> Vec<f64> {
        let columns = table.latex_columns();
        columns
            .split("dimexpr ")
            .skip(1)
            .filter_map(|c| c.split('\\').next()?.parse().ok())
            .collect()
    }

    #[test]
    fn a_wide_table_takes_the_line_and_no_more() {
        assert_eq!(table(&["FF", "0.12", "words"], 2).latex_columns(), "lrl");
        let long = "word ".repeat(30);
        for cells in [
            vec!["a4", long.as_str(), "0.5", long.as_str()],
            vec!["twelve chars"; 12],
            [vec!["twelve chars"; 12], vec![long.as_str()]].concat(),
        ] {
            let shares = shares(&table(&cells, 3));
            assert_eq!(shares.len(), cells.len());
            let sum: f64 = shares.iter().sum();
            assert!(sum <= 1.0 && sum > 0.98, "{shares:?}");
            assert!(shares.iter().all(|share| *share > 0.02), "{shares:?}");
        }
    }

    #[test]
    fn a_long_table_goes_on_over_pages() {
        assert!(table(&["a"], 40).write(Format::Latex).contains("\\begin{tabular}"));
        assert!(table(&["a"], 41).write(Format::Latex).contains("\\begin{longtable}"));
    }
}
