//! The summary that ends a run in a terminal: readable without colour.

use std::fmt::Write as _;

use backcut_page::report::{ReportError, states_line};
use backcut_text::escape::plain;
use backcut_text::format::estimate;
use backcut_text::wrapped;

use crate::agreement::agreement;
use crate::beside::Reproduction;
use crate::compare::ours;
use crate::words::published;

impl Reproduction {
    /// Ours and the paper's for every claim that a study answers; its contrasts alone if it answers none; in lines of at most so
    /// many columns.
    pub fn summary(&self, study: &str, columns: usize) -> Result<String, ReportError> {
        let tables = self.results.one(Some(study))?;
        let mut body = String::new();
        for entry in &self.paper.claims {
            let Ok(ours) = ours(&self.results, entry) else { continue };
            if ours.study != study {
                continue;
            }
            let unit =
                if entry.unit == "ratio" { String::new() } else { format!(" ({})", entry.unit) };
            body += &wrapped(&format!("{}: {}", entry.id, entry.text), columns, 4);
            let paper = entry
                .paper
                .map_or_else(|| "no number".to_owned(), |p| published(p, entry.interval));
            let value = estimate(ours.value, ours.interval);
            let _ = writeln!(body, "    {value:<33}  {paper}{unit}");
            let verdict = ours.verdict.as_ref().map_or_else(String::new, |v| format!("; {v}"));
            let words = agreement(&self.results, entry, &ours).words;
            let line = format!("    {words}; {}{verdict}; {}", ours.status, ours.place());
            body += &wrapped(&plain(&line), columns, 4);
        }
        if body.is_empty() {
            return backcut_page::report::summary(&self.results, study, columns);
        }
        let states = wrapped(&states_line(tables), columns, 2);
        Ok(format!("{states}\n    {:<33}  the paper's\n{body}", "ours"))
    }
}
