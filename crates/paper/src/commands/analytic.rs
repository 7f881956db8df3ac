//! `backcut measure analytic`: diagnostics where labels are cheap, and a construction that is
//! exact.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::analytic::construction::{gap, gap_from_moments, maximise, worst_noise};
use crate::analytic::{AnalyticStudy, Row, StudyParams, Summary, run as run_study, summarise};
use anyhow::Result;
use backcut::command::{Told as _, Tools, Verdict, defined};
use backcut::say::{self, note, out, outln};
use backcut_evidence::tables::rows::{AnalyticRow, ConstructionRow};
use backcut_evidence::tables::{Plain, to_csv};
use backcut_systems::Stream;
use serde_json::json;

use super::save;

use backcut_text::thousands;

/// Step size and prior variance ((m/s)^2) that the construction is shown with.
const SHOWN: (f64, f64) = (0.5, 0.01);

/// Options of `backcut measure analytic`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print how every quantity is defined
    #[arg(long)]
    define: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write tidy tables (CSV) into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, _: Tools) -> Result<Verdict> {
    if args.define {
        out!("{}", defined("analytic"))?;
        return Ok(Verdict::Fine);
    }
    let params = StudyParams::default();
    let study = run_study(&params).told_at("analytic")?;
    let summary = summarise(&study, params.updates).told_at("analytic")?;
    if args.json {
        say::json(as_json(&study, &summary))?;
    } else {
        print(&params, &study, &summary)?;
    }
    if let Some(out) = &args.out {
        let tables = [
            ("analytic.csv", to_csv(&rows(&study))?),
            ("analytic_agreement.csv", summary_csv(&summary).into_bytes()),
            ("construction.csv", to_csv(&construction())?),
        ];
        for (name, table) in tables {
            save(out, name, &table)?;
        }
        note!("wrote three tables to {}", out.display());
    }
    Ok(Verdict::Fine)
}

fn print(params: &StudyParams, study: &AnalyticStudy, summary: &Summary) -> Result<()> {
    outln!(
        "analytic system: {} seeds x {} couplings x {} optimizers x 2 futures = {} cases",
        params.seeds.len(),
        params.couplings.len(),
        params.optimizers.len(),
        summary.cases
    )?;
    outln!(
        "4 graphs, {} updates each after {} FF updates; {} label updates; {} steps",
        params.updates,
        params.warm_updates,
        thousands(study.label_updates as usize),
        params.steps
    )?;
    for (name, share) in &summary.clipped {
        outln!("  optimizer `{name}`: global-norm clip acted on {:.1}%", 100.0 * share)?;
    }
    outln!("\n{:<36} {:>9}   95% over seeds", "agreement with persistent training", "share")?;
    let line = |name: &str, share: f64, [low, high]: [f64; 2]| {
        let [share, low, high] = [share, low, high].map(|v| 100.0 * v);
        outln!("{name:<36} {share:>8.2}%   [{low:.2}%, {high:.2}%]")
    };
    for found in &summary.scores {
        line(&found.name, found.agreement.share, found.agreement.interval)?;
    }
    let best = &summary.best_fixed;
    line(&best.name, best.agreement.share, best.agreement.interval)?;
    line("labels of the two futures", summary.labels.share, summary.labels.interval)?;
    for found in &summary.by_optimizer {
        line(&format!("  {}", found.name), found.agreement.share, found.agreement.interval)?;
    }
    outln!("(the best fixed ordering is chosen on these labels)\n")?;
    outln!("{:<36} {:>9}   95% over seeds", "advantage", "points")?;
    for (name, found) in &summary.advantages {
        let [low, high] = found.interval.map(|v| 100.0 * v);
        outln!("{name:<36} {:>+9.2}   [{low:+.2}, {high:+.2}]", 100.0 * found.difference)?;
    }
    let (eta, q) = SHOWN;
    outln!("\nR(s) = eta (2 - eta) q^2 s^2 / (q + s)^3 at eta = {eta}, q = {q}")?;
    outln!("{:>10} {:>14} {:>14}", "s / q", "formula", "one step")?;
    for ratio in RATIOS {
        let (formula, step) = (gap(eta, q, ratio * q), gap_from_moments(eta, q, ratio * q));
        outln!("{ratio:>10} {formula:>14.6e} {step:>14.6e}")?;
    }
    outln!("largest at s / q = {:.6} (2 by the formula)", found_maximum() / q)
}

/// Noise levels, in units of the prior variance, that the construction is shown at.
const RATIOS: [f64; 7] = [0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0];

/// The maximum found by search on what one step does.
fn found_maximum() -> f64 {
    let (eta, q) = SHOWN;
    maximise(|s| gap_from_moments(eta, q, s), 1e-6 * q, 100.0 * q)
}

fn letter(stream: Stream) -> &'static str {
    match stream {
        Stream::A => "a",
        Stream::B => "b",
    }
}

fn rows(study: &AnalyticStudy) -> Vec<AnalyticRow> {
    let row = |r: &Row| AnalyticRow {
        seed: r.seed,
        coupling: Plain(r.coupling),
        optimizer: r.optimizer.clone(),
        future: letter(r.future).to_owned(),
        graph: r.graph.to_string(),
        s_g: Plain(r.score_gradient),
        s_u: Plain(r.score_update),
        anchor_error: Plain(r.anchor_error),
        error: Plain(r.error),
        clipped_updates: r.clipped,
    };
    study.rows.iter().map(row).collect()
}

/// Written by hand: orderings were published in quotes that they do not need.
fn summary_csv(summary: &Summary) -> String {
    let mut text = String::from("quantity,ordering,value,lower,upper,pairs,ties\n");
    let labels = ("labels of the two futures".to_owned(), summary.labels);
    let best = (summary.best_fixed.name.clone(), summary.best_fixed.agreement);
    let scores = summary.scores.iter().chain(&summary.by_optimizer);
    let scores = scores.map(|l| (l.name.clone(), l.agreement));
    for (name, a) in scores.chain([best, labels]) {
        let [low, high] = a.interval;
        let _ =
            writeln!(text, "agreement,\"{name}\",{},{low},{high},{},{}", a.share, a.pairs, a.ties);
    }
    for (name, a) in &summary.advantages {
        let [low, high] = a.interval;
        let _ = writeln!(text, "advantage,\"{name}\",{},{low},{high},,", a.difference);
    }
    text
}

fn construction() -> Vec<ConstructionRow> {
    let (eta, q) = SHOWN;
    let row = |s: f64| ConstructionRow {
        eta: Plain(eta),
        q: Plain(q),
        s: Plain(s),
        formula: Plain(gap(eta, q, s)),
        one_step: Plain(gap_from_moments(eta, q, s)),
    };
    RATIOS.map(|ratio| row(ratio * q)).to_vec()
}

fn as_json(study: &AnalyticStudy, summary: &Summary) -> serde_json::Value {
    let (eta, q) = SHOWN;
    let lines = summary.scores.iter().chain([&summary.best_fixed]).chain(&summary.by_optimizer);
    let advantages = summary.advantages.iter();
    let rows = study.rows.iter();
    json!({
        "cases": summary.cases,
        "label_updates": study.label_updates,
        "agreement": lines.map(|l| json!({"ordering": l.name, "found": l.agreement}))
            .collect::<Vec<_>>(),
        "labels": summary.labels,
        "advantages": advantages
            .map(|(name, a)| json!({"pair": name, "value": a.difference, "interval": a.interval}))
            .collect::<Vec<_>>(),
        "clipped": summary.clipped,
        "construction": {
            "eta": eta, "q": q, "maximum": found_maximum(), "by_formula": worst_noise(q)
        },
        "rows": rows.map(|r| json!({
            "seed": r.seed, "coupling": r.coupling, "optimizer": r.optimizer,
            "future": letter(r.future), "graph": r.graph, "s_g": r.score_gradient,
            "s_u": r.score_update, "anchor_error": r.anchor_error, "error": r.error,
            "clipped_updates": r.clipped,
        })).collect::<Vec<_>>(),
    })
}
