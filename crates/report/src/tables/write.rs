//! A table in three formats; every cell passes its format's escape.

use std::fmt::Write as _;

use super::Table;
use crate::escape::{latex, markdown, xml};

/// How a table is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A `table` element.
    Html,
    /// A pipe table.
    Markdown,
    /// A `tabular` with booktabs rules.
    Latex,
}

/// Keeps an interval on one line.
fn unbroken(cell: &str) -> String {
    let numbers =
        |text: &str| text.chars().all(|c| c.is_ascii_digit() || ".,e \u{2212}".contains(c));
    match cell.split_once('[').and_then(|(mean, rest)| Some((mean, rest.split_once(']')?))) {
        Some((mean, (ends, after))) if numbers(ends) => {
            format!("{mean}<span class=\"nb\">[{ends}]{after}</span>")
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

    fn html(&self) -> String {
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
        let mut out = format!(
            "\\begin{{table}}\n\\caption{{{}}}\n\\begin{{tabular}}{{{}}}\n\\toprule\n",
            latex(&self.title),
            "l".repeat(self.columns.len())
        );
        out += &line(&self.columns);
        out.push_str("\\midrule\n");
        for row in &self.rows {
            out += &line(row);
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
        for note in &self.notes {
            let _ = writeln!(out, "% {}", latex(note));
        }
        out
    }
}
