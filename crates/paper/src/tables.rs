//! Tables with ours beside the paper's.

use std::fmt::Write as _;

use crate::agreement::{Agreement, Difference};
use crate::answer::Found;
use crate::compare::Ours;
use backcut_page::report::{ReportError, Table};
use backcut_text::escape::csv;
use backcut_text::format::{NONE, estimate, exact};

use crate::beside::Reproduction;
use crate::entry::{Entry, Statistic, Subject};
use crate::paper::{Paper, PaperTable};
use crate::published::Basis;
use crate::words::{condition, published};

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
            return Ok(self.summary_of(name, title, self.paper.claims.iter()));
        }
        if name == VESSEL.0 {
            return Ok(self.claims_about(Subject::Vessel));
        }
        let found = self.paper.tables.iter().find(|t| t.name == name);
        let known = self.paper.table_names().into_iter().map(|(name, _)| name);
        found.map(|t| self.comparison(t)).ok_or_else(|| ReportError::unknown("table", name, known))
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
        self.summary_of(name, title, claims)
    }
}

/// Our value with its interval and unit.
pub fn our_text(entry: &Entry, ours: &Ours) -> String {
    let value = match entry.statistic {
        Statistic::BelowZero => format!("{} of {}", ours.value, ours.n),
        // Counts.
        _ if ours.interval.is_none() && ["seeds", "points"].contains(&entry.unit.as_str()) => {
            exact(ours.value)
        }
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
        None => match (entry.range, entry.includes_zero) {
            (Some(ends), _) => ends.map(|end| with_unit(&exact(end), &entry.unit)).join(" to "),
            (None, Some(true)) => "includes zero".to_owned(),
            (None, Some(false)) => "excludes zero".to_owned(),
            (None, None) => NONE.to_owned(),
        },
    }
}

/// Ours minus the paper's in words for a table's cell; a tilde where the paper's width had to be taken from ours.
pub fn difference_text(agreement: &Agreement) -> String {
    if let Some(factor) = agreement.factor {
        return format!("{} ×", estimate(factor, agreement.factor_interval));
    }
    if let Some(inside) = agreement.in_range {
        return if inside { "inside" } else { "outside" }.to_owned();
    }
    let told = |difference: Difference| {
        let value = estimate(difference.value, difference.interval);
        let tilde = if difference.basis == Some(Basis::AsOurs) { "~" } else { "" };
        let apart = if difference.is_apart() == Some(true) { ", apart" } else { "" };
        format!("{tilde}{value}{apart}")
    };
    let zero =
        agreement.same_zero.map(|same| if same { "as the paper's" } else { "unlike the paper's" });
    let words = agreement.difference.map(told).or(zero.map(str::to_owned));
    words.unwrap_or_else(|| NONE.to_owned())
}

fn with_unit(value: &str, unit: &str) -> String {
    match unit {
        "" | "ratio" | "norm" | "seeds" | "p" | "R²" | "correlation" | "mass" | "points" => {
            value.to_owned()
        }
        unit if unit.starts_with('%') => match value.split_once(' ') {
            Some((mean, interval)) => format!("{mean}% {interval}"),
            None => format!("{value}%"),
        },
        unit => format!("{value} {unit}"),
    }
}

impl Reproduction {
    /// One row per claim.
    fn summary_of<'a>(
        &self,
        name: &str,
        title: &str,
        claims: impl Iterator<Item = &'a Entry>,
    ) -> Table {
        let (mut rows, mut absent) = (Vec::new(), Vec::new());
        let mut values = per_source_header();
        for entry in claims {
            let answer = self.answer(entry);
            let start = [entry.id.clone(), entry.text.clone()];
            if let Some(why) = answer.absent() {
                let rest =
                    [NONE.into(), paper_text(entry), format!("not here: {why}"), NONE.into()];
                absent.push(start.into_iter().chain(rest).collect());
                continue;
            }
            let mut columns = answer.found.iter().map(|found| match found {
                Ok((ours, agreement)) => {
                    // What a table's row holds stands with the table.
                    if entry.cell.is_none() {
                        add_sources(&mut values, name, entry, ours);
                    }
                    [our_text(entry, ours), agreement.words.clone(), ours.standing()]
                }
                Err(why) => [NONE.to_owned(), format!("not here: {why}"), NONE.to_owned()],
            });
            let [ours, words, standing] = columns.next().unwrap_or_default();
            let rest = [ours, paper_text(entry), words, standing];
            let mut row: Vec<String> = start.into_iter().chain(rest).collect();
            row.extend(columns.flatten());
            rows.push(row);
        }
        rows.extend(absent); // what has no value is said, below what has one
        let mut columns =
            vec!["", "claim", self.column(0), "the paper's", "agreement", "our status"];
        let has_second = rows.iter().any(|row| row.len() > columns.len());
        if has_second {
            columns.extend([self.column(1), "its agreement", "its status"]);
        }
        for row in &mut rows {
            row.resize(columns.len(), NONE.to_owned());
        }
        Table {
            name: name.into(),
            title: title.into(),
            columns: columns.into_iter().map(str::to_owned).collect(),
            rows,
            notes: vec![
                "Intervals are those of the family that judged the contrast, or pointwise 95% source-bootstrap intervals \
                 where no frozen contrast names it. The status is what the ledger granted. Agreement is ours minus the \
                 paper's with a 95% interval."
                    .into(),
            ],
            csv: values,
        }
    }

    /// One row per published number.
    fn comparison(&self, table: &PaperTable) -> Table {
        let mut rows = Vec::new();
        let mut values = per_source_header();
        let (mut missing, mut left_out): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let (mut has_factors, mut has_tildes) = (false, false);
        for entry in &table.rows {
            let at = match entry.condition.as_str() {
                "" => NONE.to_owned(),
                name => condition(name),
            };
            let mut row = vec![entry.text.clone(), at];
            for (programme, found) in self.answer(entry).found.iter().enumerate() {
                match found {
                    Ok((ours, agreement)) => {
                        add_sources(&mut values, &table.name, entry, ours);
                        left_out.extend(ours.missing.iter().cloned());
                        has_factors |= agreement.factor.is_some();
                        let basis = agreement.difference.and_then(|d| d.basis);
                        has_tildes |= basis == Some(Basis::AsOurs);
                    }
                    Err(why) if !missing.contains(why) => missing.push(why.clone()),
                    Err(_) => {}
                }
                let [ours, difference, sources] = cells(entry, found);
                let paper = (programme == 0).then(|| paper_text(entry));
                row.push(ours);
                row.extend(paper.into_iter().chain([difference, sources]));
            }
            rows.push(row);
        }
        let place = if table.place.is_empty() {
            String::new()
        } else {
            format!(" In the paper: {}.", table.place)
        };
        let mut notes = vec![format!("The paper's intervals: {}.{place}", table.intervals)];
        if has_factors {
            notes.push("A number with × is ours / the paper's.".to_owned());
        }
        if has_tildes {
            notes.push(
                "~: the paper prints no interval; its half of the difference's is as wide as ours."
                    .to_owned(),
            );
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
        let mut columns = vec!["quantity", "condition", self.column(0), "the paper's"];
        columns.extend(["ours minus the paper's", "sources"]);
        if rows.iter().any(|row| row.len() > columns.len()) {
            columns.extend([self.column(1), "minus the paper's", "its sources"]);
        }
        Table {
            name: table.name.clone(),
            title: table.title.clone(),
            columns: columns.into_iter().map(str::to_owned).collect(),
            rows,
            notes,
            csv: values,
        }
    }
}

/// Ours, its difference and its number of sources.
fn cells(entry: &Entry, found: &Found) -> [String; 3] {
    match found {
        Ok((ours, agreement)) => {
            let sources = if ours.n == 0 { NONE.to_owned() } else { ours.n.to_string() };
            [our_text(entry, ours), difference_text(agreement), sources]
        }
        Err(_) => [NONE; 3].map(str::to_owned),
    }
}

fn per_source_header() -> String {
    "table,id,condition,source,value,unit\n".to_owned()
}

fn add_sources(out: &mut String, table: &str, entry: &Entry, ours: &Ours) {
    let place = [table, &entry.id, &entry.condition].map(csv).join(",");
    // Counts and bounds are of values that stand where their mean does.
    let is_listed =
        matches!(entry.statistic, Statistic::Mean | Statistic::Median | Statistic::Deviation);
    let values = if is_listed { ours.values.as_slice() } else { &[] };
    if values.is_empty() && ours.n > 0 {
        let (value, unit) = (exact(ours.value), csv(&entry.unit));
        let _ = writeln!(out, "{place},all {},{value},{unit}", ours.n);
    }
    for (source, value) in values {
        let _ = writeln!(out, "{place},{},{},{}", csv(source), exact(*value), csv(&entry.unit));
    }
}
