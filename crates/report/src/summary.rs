//! What a study found, for a terminal: 80 columns, readable without colour.

use backcut_text::{COLUMNS, wrapped};

use crate::error::ReportError;
use crate::escape::plain;
use crate::format::estimate;
use crate::results::{Results, Study};

/// One line: how many units, in which states.
pub fn states_line(study: &Study) -> String {
    let states = study.states();
    let total: usize = states.values().sum();
    let words: Vec<String> = states.iter().map(|(s, n)| format!("{n} {}", plain(s))).collect();
    format!("{}: {total} units ({})", plain(&study.name), words.join(", "))
}

/// The units and every contrast that was judged.
pub fn summary(results: &Results, study: &str) -> Result<String, ReportError> {
    let study = results.one(Some(study))?;
    let mut out = wrapped(&states_line(study), COLUMNS, 2) + "\n";
    for row in &study.analysis {
        let mean =
            row.mean.map_or_else(|| "no estimate".to_owned(), |m| estimate(m, row.interval()));
        let words = [mean, row.decision(), row.status.to_string()];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let line = format!("{}: {}", row.contrast, words.join("; "));
        out += &wrapped(&plain(&line), COLUMNS, 4);
    }
    if study.analysis.is_empty() {
        out += "it has no contrasts; what it measured stands on the page and in measurements.csv\n";
    }
    Ok(out)
}
