//! Tables with ours beside the paper's.

use std::fmt::Write as _;

use crate::compare::{Ours, agreement, ours};
use backcut_report::{ReportError, Table};
use backcut_text::escape::csv;
use backcut_text::format::{NONE, estimate, exact, fixed, number};

use crate::Reproduction;
use crate::paper::{Entry, Paper, PaperTable, Statistic, Subject};
use crate::words::{condition, published};
use backcut_report::Results;

/// The table of all claims.
const SUMMARY: (&str, &str) = ("summary", "every claim: ours, the paper's, agreement, status");
/// Those of them that are about the vessel.
const VESSEL: (&str, &str) = ("vessel", "every claim about the vessel, likewise");

impl Paper {
    /// Every table that can be made beside ours: its name and what it shows.
    pub fn table_names(&self) -> Vec<(&str, &str)> {
        let tables = self.tables.iter().map(|t| (t.name.as_str(), t.title.as_str()));
        [SUMMARY, VESSEL].into_iter().chain(tables).collect()
    }
}

impl Reproduction {
    /// Makes a table.
    pub fn table(&self, name: &str) -> Result<Table, ReportError> {
        if name == SUMMARY.0 {
            let title = "Claims: ours and the paper's";
            return Ok(summary(&self.results, name, title, self.paper.claims.iter()));
        }
        if name == VESSEL.0 {
            return Ok(self.claims_about(Subject::Vessel));
        }
        let found = self.paper.tables.iter().find(|t| t.name == name);
        let known = self.paper.table_names().into_iter().map(|(name, _)| name);
        found
            .map(|t| comparison(&self.results, t))
            .ok_or_else(|| ReportError::unknown("table", name, known))
    }
}

impl Reproduction {
    /// The claims about one of the systems.
    pub(crate) fn claims_about(&self, subject: Subject) -> Table {
        let (name, title) = match subject {
            Subject::Quadrotor => ("quadrotor", "Claims: ours and the paper's"),
            Subject::Vessel => (VESSEL.0, "Claims about the vessel: ours and the paper's"),
        };
        let claims = self.paper.claims.iter().filter(|claim| claim.system == subject);
        summary(&self.results, name, title, claims)
    }
}

/// Our value with its interval and unit.
pub fn our_text(entry: &Entry, ours: &Ours) -> String {
    let value = match entry.statistic {
        Statistic::BelowZero => format!("{} of {}", ours.value, ours.n),
        _ => estimate(ours.value, ours.interval),
    };
    with_unit(&value, &entry.unit)
}

/// The paper's value with its interval and unit.
pub fn paper_text(entry: &Entry) -> String {
    match entry.paper {
        Some(value) if entry.statistic == Statistic::BelowZero => {
            with_unit(&exact(value), &entry.unit)
        }
        Some(value) => with_unit(&published(value, entry.interval), &entry.unit),
        None => NONE.to_owned(),
    }
}

fn with_unit(value: &str, unit: &str) -> String {
    match unit {
        "" | "ratio" | "norm" | "seeds" => value.to_owned(),
        unit if unit.starts_with('%') => match value.split_once(' ') {
            Some((mean, interval)) => format!("{mean}% {interval}"),
            None => format!("{value}%"),
        },
        unit => format!("{value} {unit}"),
    }
}

/// One row per claim.
fn summary<'a>(
    results: &Results,
    name: &str,
    title: &str,
    claims: impl Iterator<Item = &'a Entry>,
) -> Table {
    let (mut rows, mut absent) = (Vec::new(), Vec::new());
    let mut values = per_source_header();
    for entry in claims {
        let text = entry.text.clone();
        match ours(results, entry) {
            Ok(ours) => {
                add_sources(&mut values, name, entry, &ours);
                rows.push(vec![
                    entry.id.clone(),
                    text,
                    our_text(entry, &ours),
                    paper_text(entry),
                    agreement(entry, &ours).words,
                    ours.standing(),
                ]);
            }
            Err(why) => {
                absent.push(vec![
                    entry.id.clone(),
                    text,
                    NONE.into(),
                    paper_text(entry),
                    format!("not here: {why}"),
                    NONE.into(),
                ]);
            }
        }
    }
    rows.extend(absent); // what has no value is said, below what has one
    let columns = ["", "claim", "ours", "the paper's", "agreement", "our status"];
    Table {
        name: name.into(),
        title: title.into(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        notes: vec![
            "Intervals are those of the family that judged the contrast, or pointwise 95% source-bootstrap intervals \
             where no frozen contrast names it. The status is what the ledger granted."
                .into(),
        ],
        csv: values,
    }
}

/// One row per published number.
fn comparison(results: &Results, table: &PaperTable) -> Table {
    let mut rows = Vec::new();
    let mut values = per_source_header();
    let (mut missing, mut left_out): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut has_factors = false;
    for entry in &table.rows {
        let at =
            if entry.condition.is_empty() { NONE.to_owned() } else { condition(&entry.condition) };
        let start = vec![entry.text.clone(), at];
        let rest = match ours(results, entry) {
            Ok(ours) => {
                add_sources(&mut values, &table.name, entry, &ours);
                left_out.extend(ours.missing.iter().cloned());
                let agreement = agreement(entry, &ours);
                has_factors |= agreement.factor.is_some();
                let factor = agreement.factor.map(|f| format!("{} ×", number(f)));
                let widths = agreement.widths.map(|w| fixed(w, 2)).or(factor);
                let widths = widths.unwrap_or_else(|| NONE.to_owned());
                vec![our_text(entry, &ours), paper_text(entry), widths, ours.n.to_string()]
            }
            Err(why) => {
                if !missing.contains(&why) {
                    missing.push(why);
                }
                vec![NONE.to_owned(), paper_text(entry), NONE.to_owned(), NONE.to_owned()]
            }
        };
        rows.push(start.into_iter().chain(rest).collect());
    }
    let mut notes = vec![format!(
        "The paper's intervals: {}. Difference: (ours - the paper's) / width of the paper's interval.",
        table.intervals
    )];
    if has_factors {
        notes.push("A number with × is ours / the paper's.".to_owned());
    }
    left_out.sort();
    left_out.dedup();
    if !left_out.is_empty() {
        let shown = left_out.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
        let more = if left_out.len() > 8 {
            format!(" and {} more", left_out.len() - 8)
        } else {
            String::new()
        };
        notes.push(format!("Left out where a value is missing: {shown}{more}."));
    }
    notes.extend(missing.into_iter().take(8).map(|why| format!("Without a value: {why}.")));
    let columns = ["quantity", "condition", "ours", "the paper's", "difference", "sources"];
    Table {
        name: table.name.clone(),
        title: table.title.clone(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        notes,
        csv: values,
    }
}

fn per_source_header() -> String {
    "table,id,quantity,condition,source,value,unit\n".to_owned()
}

fn add_sources(out: &mut String, table: &str, entry: &Entry, ours: &Ours) {
    let place = [table, &entry.id, &entry.text, &entry.condition].map(csv).join(",");
    if ours.values.is_empty() && ours.n > 0 {
        let (value, unit) = (exact(ours.value), csv(&entry.unit));
        let _ = writeln!(out, "{place},all {},{value},{unit}", ours.n);
    }
    for (source, value) in &ours.values {
        let _ = writeln!(out, "{place},{},{},{}", csv(source), exact(*value), csv(&entry.unit));
    }
}
