//! What a study found, for a terminal: readable without colour.

use backcut_evidence::tables::UnitState;
use backcut_text::{counted, wrapped};

use crate::report::error::ReportError;
use crate::report::escape::plain;
use crate::report::format::estimate;
use crate::report::results::{Results, Study};

/// One line: how many units, in which states.
pub fn states_line(study: &Study) -> String {
    let states = study.states();
    let total: usize = states.values().sum();
    let is_done = states.keys().all(|state| *state == UnitState::Done.word());
    let words: Vec<String> = states.iter().map(|(s, n)| format!("{n} {}", plain(s))).collect();
    let words = match total {
        0 => "no units of its own".to_owned(),
        _ if is_done => format!("{}, all done", counted(total, "unit")),
        _ => format!("{} ({})", counted(total, "unit"), words.join(", ")),
    };
    format!("{}: {words}", plain(&study.name))
}

/// The units and every contrast that was judged, in lines of at most so many columns.
pub fn summary(results: &Results, study: &str, columns: usize) -> Result<String, ReportError> {
    let study = results.one(Some(study))?;
    let mut out = wrapped(&states_line(study), columns, 2) + "\n";
    for row in &study.analysis {
        let mean =
            row.mean.map_or_else(|| "no estimate".to_owned(), |m| estimate(m, row.interval()));
        let words = [mean, row.decision(), row.status.to_string()];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let line = format!("{}: {}", row.contrast, words.join("; "));
        out += &wrapped(&plain(&line), columns, 4);
    }
    if study.analysis.is_empty() {
        out += "it has no contrasts; what it measured stands on the page and in observations.csv\n";
    }
    Ok(out)
}
