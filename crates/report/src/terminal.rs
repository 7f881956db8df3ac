//! The summary that ends a run in a terminal: 80 columns, readable without colour.

use std::fmt::Write as _;

use crate::compare::{agreement, ours};
use crate::error::ReportError;
use crate::escape::plain;
use crate::format::{estimate, published};
use crate::paper::Paper;
use crate::results::Results;

const COLUMNS: usize = 80;

/// Ours and the paper's for every claim that a study answers, and what did not run.
pub fn summary_text(results: &Results, study: &str) -> Result<String, ReportError> {
    let Some(tables) = results.study(study) else {
        return Err(ReportError::Unknown {
            what: "study",
            name: study.to_owned(),
            available: results.studies().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", "),
        });
    };
    let mut out = String::new();
    let states = tables.states();
    let total: usize = states.values().sum();
    let words: Vec<String> = states.iter().map(|(s, n)| format!("{n} {}", plain(s))).collect();
    push(&mut out, &format!("{}: {total} units ({})", plain(study), words.join(", ")), 2);
    out.push('\n');
    let mut body = String::new();
    for entry in Paper::load()?.claims {
        let Ok(ours) = ours(results, &entry) else { continue };
        if ours.study != study {
            continue;
        }
        let unit = if entry.unit == "ratio" { String::new() } else { format!(" ({})", entry.unit) };
        push(&mut body, &format!("{}: {}", entry.id, entry.text), 4);
        let paper =
            entry.paper.map_or_else(|| "no number".to_owned(), |p| published(p, entry.interval));
        let _ =
            writeln!(body, "    {:<33}  {}", estimate(ours.value, ours.interval), paper + &unit);
        let verdict = ours.verdict.as_ref().map_or_else(String::new, |v| format!("; {v}"));
        let words = agreement(&entry, &ours).words;
        let line = format!("    {words}; {}{verdict}; {}", ours.status, ours.place());
        push(&mut body, &plain(&line), 4);
    }
    if body.is_empty() {
        for row in &tables.analysis {
            let mean =
                row.mean.map_or_else(|| "no estimate".to_owned(), |m| estimate(m, row.interval()));
            push(
                &mut body,
                &plain(&format!("{}: {mean}; {}; {}", row.contrast, row.decision(), row.status)),
                4,
            );
        }
    } else {
        let _ = writeln!(out, "    {:<33}  the paper's", "ours");
    }
    if body.is_empty() {
        body.push_str(
            "no claim of the paper and no contrast can be computed from this study yet\n",
        );
    }
    out += &body;
    Ok(out)
}

/// Appends a line broken at spaces; later lines are indented.
fn push(out: &mut String, line: &str, indent: usize) {
    let lead = line.len() - line.trim_start().len();
    let mut current = " ".repeat(lead);
    let mut is_fresh = true;
    for word in line.split_whitespace() {
        if !is_fresh && current.chars().count() + 1 + word.chars().count() > COLUMNS {
            out.push_str(&current);
            out.push('\n');
            current = " ".repeat(indent);
            is_fresh = true;
        }
        if !is_fresh {
            current.push(' ');
        }
        current.push_str(word);
        is_fresh = false;
    }
    out.push_str(&current);
    out.push('\n');
}
