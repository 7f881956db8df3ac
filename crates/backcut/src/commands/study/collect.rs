//! `backcut study collect`: tidy tables, and the verdicts in the terminal.

use std::path::PathBuf;

use anyhow::Result;
use backcut_evidence::tables::rows::AnalysisRow;
use backcut_study::collect::{Results, write};
use backcut_study::status::{UnitState, counts};
use backcut_study::{Plan, Store, Study, Tools, commit};

use super::Target;
use crate::common::print_judged;
use crate::exit::{Told as _, Verdict};
use crate::look::VERDICTS;
use crate::say::outln;
use backcut_text::shortened;

/// Options of `backcut study collect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Write the tables into DIR/NAME [default: the results folder's tables/NAME]
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,
    /// Only findings of these parts, as `all` for the whole policy
    #[arg(long, value_name = "PART,...", value_delimiter = ',')]
    parts: Vec<String>,
    /// Write Parquet files beside the CSV files
    #[arg(long)]
    parquet: bool,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let (study, plan, store) = args.target.open_existing(tools)?;
    let folder =
        args.tables.as_ref().map_or_else(|| store.tables(&study.name), |t| t.join(&study.name));
    let analysis = collect(&study, &plan, &store, &folder, &args.parts, args.parquet)?;
    print_judged(verdicts(&analysis), VERDICTS)?;
    outln!("tables: {}", folder.display())?;
    let failed = analysis.iter().any(|row| row.verdict.failed());
    Ok(if failed { Verdict::Failed } else { Verdict::Fine })
}

/// Makes the tables of a study; returns its analysis.
pub fn collect(
    study: &Study,
    plan: &Plan,
    store: &Store,
    folder: &std::path::Path,
    parts: &[String],
    with_parquet: bool,
) -> Result<Vec<AnalysisRow>> {
    commit::is_new(study, store).told()?; // a file that differs has no results of its own
    let results = Results::read(study, plan, store).told()?;
    let tables = results.tables(store, parts).told()?;
    let about = results.about(store, parts).told()?;
    write(&tables, &about, store, folder, with_parquet).told()?;
    let states = counts(&results.states);
    let missing: Vec<String> = UnitState::ALL
        .iter()
        .zip(states)
        .filter(|(state, count)| **state != UnitState::Done && *count > 0)
        .map(|(state, count)| format!("{count} {}", state.word()))
        .collect();
    outln!("{}: {} of {} units done", study.name, states[0], plan.units.len())?;
    if !missing.is_empty() {
        outln!("  {} (rows without a value in the tables)", missing.join(", "))?;
    }
    Ok(tables.analysis)
}

/// The analysis for a terminal of 80 columns.
pub fn verdicts(analysis: &[AnalysisRow]) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
    let count = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let mut out = String::new();
    let mut family = None;
    for row in analysis {
        if family != Some(&row.family) {
            family = Some(&row.family);
            let AnalysisRow { family, bound, size, level, .. } = row;
            out += &format!("\n{family} ({bound}, M = {size}, level {level})\n");
        }
        out += &format!("  {:<24} {:>9}", shortened(&row.contrast, 24), number(row.mean));
        out += &format!("  [{}, {}]", number(row.lower), number(row.upper));
        out += &format!("  {}/{}\n", count(row.agreeing), count(row.sources));
        out += &format!("      {}; {}\n", row.verdict, row.status);
    }
    out
}

/// Four digits that matter.
fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - number.abs().log10().floor() as i32;
    if (0..=8).contains(&digits) {
        format!("{number:.*}", digits as usize)
    } else {
        format!("{number:.3e}")
    }
}
