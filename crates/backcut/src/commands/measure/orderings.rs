//! `backcut measure orderings`: do local scores, or a fixed order, say which graph persistent training prefers?

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use backcut_measure::diagnostics::orderings::{Compared, agreement, fixed_orderings};
use backcut_stats::agreement::Agreement;
use backcut_tables::rows::{EvaluationRow, MeasurementRow};
use backcut_tables::{Row, from_csv, names};

use crate::common::print;
use crate::exit::{Told as _, Verdict, user};

/// Options of `backcut measure orderings`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A case is one source: its graphs ordered by the error after training, by the scores at the state they
started from, and by fixed orders. Agreement is the share of pairs of graphs that two orders order
alike, exact ties one half; intervals resample whole sources.")]
pub struct Args {
    /// Tables of a study that measured `scores`, as `backcut study collect` writes them
    tables: PathBuf,
    /// The graphs' arms, in the order of the first fixed ordering
    #[arg(long, value_delimiter = ',', value_name = "ARM,ARM,...", default_value = "FF,FD,KF,KD")]
    arms: Vec<String>,
    /// The arm at whose states the scores were measured
    #[arg(long, value_name = "ARM", default_value = "FF")]
    anchor: String,
    /// The update whose errors are the labels [default: each arm's last]
    #[arg(long, value_name = "UPDATE")]
    at: Option<u64>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let evaluations: Vec<EvaluationRow> = rows(args, names::CURVES)?;
    let findings: Vec<MeasurementRow> = rows(args, names::MEASUREMENTS)?;
    let cases = cases(args, &evaluations, &findings)?;
    print(table(&args.arms, &cases)?)
}

fn rows<R: Row>(args: &Args, name: &str) -> Result<Vec<R>> {
    let path = args.tables.join(format!("{name}.csv"));
    let hint = "give the folder that `backcut study collect` wrote for a study with scores";
    let bytes = backcut_files::read(&path)
        .map_err(|error| user(format!("{}: {error}", path.display()), hint))?;
    from_csv(&bytes).map_err(|error| user(format!("{}: {error}", path.display()), hint))
}

/// A source: what happened to its graphs, and what the scores said.
struct Case {
    source: String,
    labels: Vec<f64>,
    /// By raw gradients, and by applied updates.
    scores: [Vec<f64>; 2],
}

const SCORES: [&str; 2] = ["S_G", "S_U"];

fn cases(
    args: &Args,
    evaluations: &[EvaluationRow],
    findings: &[MeasurementRow],
) -> Result<Vec<Case>> {
    let mut sources: Vec<&str> = Vec::new();
    for row in findings.iter().filter(|row| row.quantity == SCORES[0] && row.arm == args.anchor) {
        if !sources.contains(&row.source.as_str()) {
            sources.push(&row.source);
        }
    }
    if sources.is_empty() {
        let what = format!("no scores at states of the arm `{}`", args.anchor);
        return Err(user(what, "measure `kind = \"scores\"` there, or name another --anchor"));
    }
    let label = |source: &str, arm: &String| -> Result<f64> {
        let of_arm = evaluations.iter().filter(|row| row.source == source && row.arm == *arm);
        let found = match args.at {
            Some(at) => of_arm.into_iter().find(|row| row.update == at),
            None => of_arm.max_by_key(|row| row.update),
        };
        found.and_then(|row| row.value).ok_or_else(|| {
            let what = format!("arm `{arm}` of source {source} has no error there");
            user(what, "choose another --at or --arms, or finish the study")
        })
    };
    let score = |source: &str, quantity: &str, cut: &String| -> Result<f64> {
        let is_it = |row: &&MeasurementRow| {
            let is_cut = row.cut.as_deref().unwrap_or_default() == cut;
            row.source == source && row.arm == args.anchor && row.quantity == quantity && is_cut
        };
        findings.iter().find(is_it).and_then(|row| row.value).ok_or_else(|| {
            let what = format!("source {source} has no {quantity} of {cut}");
            user(what, "arms are called like their cuts: name them in the measurement's cuts")
        })
    };
    let case = |source: &str| {
        let arms = args.arms.iter();
        let labels = arms.clone().map(|arm| label(source, arm)).collect::<Result<_>>()?;
        let [by_gradient, by_update]: [Result<Vec<f64>>; 2] =
            SCORES.map(|name| arms.clone().map(|arm| score(source, name, arm)).collect());
        Ok(Case { source: source.to_owned(), labels, scores: [by_gradient?, by_update?] })
    };
    sources.into_iter().map(case).collect()
}

/// The agreement of some order of every case with its labels.
fn with_labels<'a>(
    cases: &'a [Case],
    order: impl Fn(usize, &'a Case) -> &'a [f64],
) -> Result<Agreement> {
    let compared = cases.iter().enumerate().map(|(i, case)| Compared {
        source: case.source.clone(),
        left: order(i, case).to_vec(),
        right: case.labels.clone(),
    });
    agreement(&compared.collect::<Vec<_>>()).told()
}

fn table(arms: &[String], cases: &[Case]) -> Result<String> {
    let pairs = arms.len() * arms.len().saturating_sub(1) / 2;
    let mut out = format!("{} sources, {pairs} pairs of graphs each\n\n", cases.len());
    let _ = writeln!(out, "  {:<44} agreement", "order");
    let mut line = |name: &str, found: Agreement| {
        let [low, high] = found.interval.map(|end| 100.0 * end);
        let _ = writeln!(out, "  {name:<44} {:>5.1}% [{low:.1}, {high:.1}]", 100.0 * found.share);
    };
    line("S_G, by raw gradients", with_labels(cases, |_, case| &case.scores[0])?);
    line("S_U, by applied updates", with_labels(cases, |_, case| &case.scores[1])?);
    let fixed = fixed_orderings(arms.len());
    line(&format!("fixed: {}", arms.join(", ")), with_labels(cases, |_, _| &fixed[0])?);
    let mut best: Option<(Agreement, &Vec<f64>)> = None;
    for order in &fixed {
        let found = with_labels(cases, |_, _| order)?;
        if best.as_ref().is_none_or(|(best, _)| found.share > best.share) {
            best = Some((found, order));
        }
    }
    if let Some((found, ranks)) = best {
        let mut names: Vec<(f64, &String)> = ranks.iter().copied().zip(arms).collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let names: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        line(&format!("best fixed, chosen here: {}", names.join(", ")), found);
    }
    let next = |i: usize| &cases[(i + 1) % cases.len()];
    line("the labels of the next source", with_labels(cases, |i, _| &next(i).labels)?);
    Ok(out)
}
