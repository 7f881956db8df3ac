//! `backcut measure any KIND`: whatever a study file may measure, from the command line, as one
//! table.

use std::path::PathBuf;

use anyhow::Result;
use backcut_lab::measure::{Finding, Measurement, Of, Subject, measure};
use backcut_study::Tools;
use serde_json::{Map, Value};

use super::figure::Dots;
use super::gradient::point;
use super::output::Results;
use super::states::{StateArgs, States, reference};
use super::table::{Column, Look, Row, sheet, wrapped};
use crate::exit::{Told as _, Verdict, user};
use crate::settings::value;

/// Options of `backcut measure any`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The kind of measurement, as study files call it: masking, donor, attention, input-weight,
    /// ...
    pub kind: String,
    /// Its options, as windows=[1,2]; may be repeated
    #[arg(long = "with", value_name = "KEY=VALUE")]
    with: Vec<String>,
    /// The checkpoint whose observations are common to all
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    #[command(flatten)]
    pub states: StateArgs,
}

impl Args {
    fn measurement(&self) -> Result<Measurement> {
        let mut table = Map::from_iter([("kind".to_owned(), Value::from(self.kind.as_str()))]);
        for text in &self.with {
            let Some((key, text)) = text.split_once('=') else {
                return Err(user(format!("--with {text}"), "write KEY=VALUE, as windows=[1,2]"));
            };
            table.insert(key.to_owned(), value(text));
        }
        serde_json::from_value(table.into()).map_err(|error| {
            let hint = "kinds and their options are those of [[measurements]] in a study file";
            user(format!("{}: {error}", self.kind), hint)
        })
    }
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let measurement = args.measurement()?;
    let states = args.states.restore(tools)?;
    let reference = reference(args.reference.as_ref(), tools)?;
    let reference = reference.as_ref().map(Subject::of);
    let results = Results::new(states.each(|subject, state| {
        measure(&measurement, subject, reference.as_ref()).told_at(&state.label)
    })?);
    let text = text(&states, &results.summary);
    let figures = figures(measurement.kind(), &results.summary);
    let figures: Vec<(&str, String)> =
        figures.iter().map(|(name, svg)| (name.as_str(), svg.clone())).collect();
    results.publish(measurement.kind(), &args.states, &states, &text, &figures)?;
    Ok(Verdict::Fine)
}

/// A table per family of quantities (`gradient.norm` and `gradient.ratio` are one), with a row for
/// every cut and part; percentiles stand beside their median.
fn text(states: &States, findings: &[Finding]) -> String {
    let look = Look(findings);
    let mut families: Vec<(&str, Vec<&Finding>)> = Vec::new();
    for finding in findings.iter().filter(|f| !is_percentile(f)) {
        let family = finding.quantity.rsplit_once('.').map_or("", |(family, _)| family);
        match families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, members)) => members.push(finding),
            None => families.push((family, vec![finding])),
        }
    }
    let mut out = wrapped(&states.introduction(), 2);
    for (family, members) in families {
        let (mut quantities, mut rows): (Vec<&str>, Vec<(&Of, &str)>) = (Vec::new(), Vec::new());
        for Finding { quantity, of, part, .. } in members {
            if !quantities.contains(&quantity.as_str()) {
                quantities.push(quantity);
            }
            if !rows.contains(&(of, part)) {
                rows.push((of, part));
            }
        }
        let row =
            |(of, part): (&Of, &str)| Row::new(format!("{of} {part}").trim_start(), "", of, part);
        let rows: Vec<Row> = rows.into_iter().map(row).collect();
        let columns = quantities.iter().map(|quantity| {
            let head = quantity.strip_prefix(family).unwrap_or(quantity);
            let head = head.trim_start_matches('.');
            Column::formed(head, quantity, |look, quantity, of, part| {
                let found = look.find(quantity, of, part);
                found.map_or_else(String::new, |_| look.band(quantity, of, part))
            })
        });
        let columns: Vec<Column> = columns.collect();
        out += &format!("\n{}", sheet(look, family, &rows, &columns));
        out += &look.reasons(&quantities);
    }
    out
}

/// A figure for each quantity that has a value: its parts as rows, its cuts as series.
fn figures(kind: &str, findings: &[Finding]) -> Vec<(String, String)> {
    let look = Look(findings);
    let mut names: Vec<&str> = Vec::new();
    for finding in findings.iter().filter(|f| f.value.is_some() && !is_percentile(f)) {
        if !names.contains(&finding.quantity.as_str()) {
            names.push(&finding.quantity);
        }
    }
    let figure = |quantity: &str| {
        let cuts = look.cuts(quantity);
        let parts = cuts.iter().flat_map(|cut| look.parts(quantity, *cut));
        let parts = parts.fold(Vec::new(), |mut parts: Vec<&str>, part| {
            if !parts.contains(&part) {
                parts.push(part);
            }
            parts
        });
        let row = |part: &&str| {
            let points = cuts.iter().map(|cut| point(look, quantity, *cut, part)).collect();
            ((*part).to_owned(), points)
        };
        let named = |cut: &&Of| match cut {
            Of::Nothing => quantity.to_owned(),
            cut => cut.to_string(),
        };
        let dots = Dots {
            title: quantity.to_owned(),
            series: cuts.iter().map(named).collect(),
            rows: parts.iter().map(row).collect(),
        };
        (format!("{kind}.{quantity}"), dots.svg())
    };
    names.into_iter().map(figure).collect()
}

fn is_percentile(finding: &Finding) -> bool {
    backcut_lab::measure::PERCENTILES.iter().any(|(suffix, _)| finding.quantity.ends_with(suffix))
}
