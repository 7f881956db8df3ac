//! `backcut measure any KIND`: whatever a study file may measure, from the command line, as one table.

use std::path::PathBuf;

use anyhow::Result;
use backcut_lab::measure::{Finding, Measurement, Of, Subject, measure};
use backcut_study::Tools;
use serde_json::{Map, Value};

use super::figure::Dots;
use super::gradient::point;
use super::output::Results;
use super::states::{StateArgs, States, reference};
use super::table::{Look, Table, defined, wrapped};
use crate::exit::{Told as _, Verdict, user};
use crate::say::out;
use crate::settings::value;

/// Options of `backcut measure any`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The kind of measurement, as study files call it: masking, donor, attention, input-weight, ...
    kind: String,
    /// Its options, as windows=[1,2]; may be repeated
    #[arg(long = "with", value_name = "KEY=VALUE")]
    with: Vec<String>,
    /// The checkpoint whose observations are common to all
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    #[command(flatten)]
    states: StateArgs,
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
    if args.states.define {
        out!("{}", defined(&args.kind))?;
        return Ok(Verdict::Fine);
    }
    let measurement = args.measurement()?;
    let states = args.states.restore(tools)?;
    let reference = reference(args.reference.as_ref(), tools)?;
    let reference = reference.as_ref().map(Subject::of);
    let mut of_state = Vec::new();
    for state in &states.all {
        let found = measure(&measurement, &Subject::of(&state.restored), reference.as_ref());
        of_state.push(found.told_at(&state.label)?);
    }
    let results = Results::new(of_state);
    let text = text(&states, &results.summary);
    let figures = figures(measurement.kind(), &results.summary);
    let figures: Vec<(&str, String)> =
        figures.iter().map(|(name, svg)| (name.as_str(), svg.clone())).collect();
    results.publish(measurement.kind(), &args.states, &states, &text, &figures)?;
    Ok(Verdict::Fine)
}

/// One line per finding; percentiles stand beside their median.
fn text(states: &States, findings: &[Finding]) -> String {
    let look = Look(findings);
    let mut table = Table::new(["quantity", "cut", "part", "value"]);
    let mut reasons = Vec::new();
    for finding in findings.iter().filter(|f| !is_percentile(f)) {
        let Finding { quantity, of, part, .. } = finding;
        let value = look.band(quantity, of, part);
        table.row([quantity.clone(), of.to_string(), part.clone(), value]);
        reasons.push(quantity.as_str());
    }
    let introduction = wrapped(&states.introduction(), 2);
    format!("{introduction}\n{}{}", table.text(), look.reasons(&reasons))
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
