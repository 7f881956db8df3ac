//! `backcut study collect`: tidy tables, and the verdicts in the terminal.

use std::path::PathBuf;

use anyhow::Result;
use backcut_study::collect::{Results, write};
use backcut_study::status::{UnitState, counts};
use backcut_study::table::{Table, Value};
use backcut_study::{Plan, Store, Study, Tools};

use super::{Target, user};
use crate::exit::Verdict;

/// Options of `backcut study collect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Write the tables into DIR/NAME [default: the results folder's tables/NAME]
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,
    /// Only findings of these parts in measurements.csv, as `all` for the whole policy
    #[arg(long, value_name = "PART,...", value_delimiter = ',')]
    parts: Vec<String>,
    /// Write Parquet files beside the CSV files
    #[arg(long)]
    parquet: bool,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let (study, plan, store) = args.target.open(tools)?;
    let folder =
        args.tables.as_ref().map_or_else(|| store.tables(&study.name), |t| t.join(&study.name));
    let analysis = collect(&study, &plan, &store, &folder, &args.parts, args.parquet)?;
    print!("{}", verdicts(&analysis));
    println!("tables: {}", folder.display());
    let failed = analysis.rows.iter().any(|row| {
        matches!(&row[14], Value::Text(v) if v == "contradicted" || v == "noninferiority not shown")
    });
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
) -> Result<Table> {
    let results = Results::read(study, plan, store).map_err(user)?;
    let tables = results.tables(store, parts).map_err(user)?;
    let about = results.about(store).map_err(user)?;
    write(&tables, &about, store, folder, with_parquet).map_err(user)?;
    let states = counts(&results.states);
    let missing: Vec<String> = UnitState::ALL
        .iter()
        .zip(states)
        .filter(|(state, count)| **state != UnitState::Done && *count > 0)
        .map(|(state, count)| format!("{count} {}", state.word()))
        .collect();
    println!("{}: {} of {} units done", study.name, states[0], plan.units.len());
    if !missing.is_empty() {
        println!("  {} (rows without a value in the tables)", missing.join(", "));
    }
    Ok(tables
        .into_iter()
        .find(|t| t.name == "analysis")
        .unwrap_or_else(|| Table::new("analysis", &[])))
}

/// The analysis for a terminal of 80 columns.
pub fn verdicts(analysis: &Table) -> String {
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        Value::Count(count) => count.to_string(),
        Value::Number(number) => short(*number),
        Value::Empty => "-".to_owned(),
    };
    let mut out = String::new();
    let mut family = None;
    for row in &analysis.rows {
        let at = |i: usize| text(&row[i]);
        if family != Some(&row[0]) {
            family = Some(&row[0]);
            let (name, bound, size) = (at(0), at(8), at(10));
            out += &format!("\n{name} ({bound}, M = {size}, level {})\n", plain(&row[9]));
        }
        out += &format!("  {:<24} {:>9}", clip(&at(1), 24), at(5));
        out += &format!("  [{}, {}]  {}/{}\n", at(6), at(7), at(13), at(4));
        out += &format!("      {}; {}\n", at(14), at(15));
    }
    out
}

/// A number as it was written.
fn plain(value: &Value) -> String {
    if let Value::Number(number) = value { number.to_string() } else { "-".to_owned() }
}

fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width - 1).collect();
    cut.push('~');
    cut
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
