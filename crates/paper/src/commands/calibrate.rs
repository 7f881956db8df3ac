//! `backcut calibrate`: candidates for what the paper does not publish, by what it does.
//!
//! The candidates are a study (`studies/second/calibration.toml`) that is frozen, run and collected
//! like any other; this command reads its tables. Nothing here trains under a cut, and tables that
//! hold an arm under one are refused: what is chosen here cannot have been chosen for what the
//! studies ask. The one thing that it computes is the clip threshold by the paper's recipe
//! (`--pilot`), which needs no cut either.

use std::path::PathBuf;

use crate::calibration::{Candidate, candidates};
use crate::values;
use anyhow::Result;
use backcut::command::{SettingArgs, Told as _, Tools, Verdict, user};
use backcut::say::{self, outln};
use backcut_engine::{Cut, Rollout, Workspace};
use backcut_lab::training::{Arm, Optimizer, Trainer};
use backcut_page::report::Results;
use backcut_systems::quadrotor::QuadrotorConfig;
use backcut_systems::{BatchKey, Built, Clip, Settings as _, Stream, SystemChoice};
use serde_json::{Map, json};

/// The pilot that measures the clip threshold.
const PILOT_SEED: u64 = 910_000_000;
const PILOT_UPDATES: u64 = 100;
const PILOT_BATCHES: u64 = 16;

/// Candidates for what is not published, by published cells in which nothing is cut.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of results that holds the collected study `calibration`
    #[arg(required_unless_present = "pilot")]
    results: Option<PathBuf>,
    /// Measure the clip threshold by the recipe instead: the median raw FF norm over 16 fresh
    /// batches at update 100
    #[arg(long, conflicts_with = "results")]
    pilot: bool,
    #[command(flatten)]
    settings: SettingArgs,
    /// Machine-readable output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let Some(folder) = &args.results else { return threshold(args, tools) };
    if !args.settings.is_empty() {
        return Err(user("settings without --pilot", "the candidates' settings are the study's"));
    }
    let results = Results::open(folder).told_after("failed to ")?;
    let mut all = candidates(&results).told_after("failed to ")?;
    all.sort_by(|a, b| {
        let of = |c: &Candidate| c.score(|_| true).unwrap_or(f64::INFINITY);
        of(a).total_cmp(&of(b))
    });
    if args.json {
        let told = |candidate: &Candidate| {
            let cell = |cell: &crate::calibration::Cell| {
                json!({"target": cell.group, "condition": cell.condition, "paper": cell.paper,
                       "ours": cell.ours, "mismatch": cell.mismatch})
            };
            let cells: Vec<_> = candidate.cells.iter().map(cell).collect();
            json!({"candidate": candidate.name, "score": candidate.score(|_| true), "cells": cells})
        };
        let all: Vec<_> = all.iter().map(told).collect();
        say::json(serde_json::to_string_pretty(&all)?)?;
        return Ok(Verdict::Fine);
    }
    say::out!("{}", table(&all))?;
    Ok(Verdict::Fine)
}

/// Scores in Markdown: all cells, and each group of targets.
fn table(all: &[Candidate]) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for cell in all.iter().flat_map(|candidate| &candidate.cells) {
        if !groups.contains(&cell.group.as_str()) {
            groups.push(&cell.group);
        }
    }
    let number = |score: Option<f64>| score.map_or_else(|| "-".to_owned(), |s| format!("{s:.3}"));
    let mut text = format!("| candidate | score | {} |\n", groups.join(" | "));
    text += &format!("| --- | --- |{}\n", " --- |".repeat(groups.len()));
    for candidate in all {
        text += &format!("| {} | {} |", candidate.name, number(candidate.score(|_| true)));
        for group in &groups {
            text += &format!(" {} |", number(candidate.score(|of| of == *group)));
        }
        text.push('\n');
    }
    text
}

/// The clip threshold by the recipe, under settings that are asked for.
fn threshold(args: &Args, tools: Tools) -> Result<Verdict> {
    let choice = SystemChoice::new(QuadrotorConfig::NAME, Map::new());
    let built = args.settings.over(&choice, tools.catalogue)?;
    let clip = pilot(&built)?;
    if args.json {
        say::json(json!({"settings": built.choice.settings, "clip": clip}))?;
    } else {
        outln!("{clip:.2}  ({}); the paper's: {}", built.words, values::CLIP)?;
    }
    Ok(Verdict::Fine)
}

/// The median raw FF gradient norm over fresh batches at update 100 of a pilot with a seed of its
/// own, not clipped; the batches are from stream b, which the pilot has not seen.
fn pilot(built: &Built) -> Result<f64> {
    let system = built.system();
    let optimizer = Optimizer { clip: Clip::NONE, ..built.optimizer.clone() };
    let arm = Arm { cut: Cut::FF, seed: PILOT_SEED, stream: Stream::A, optimizer };
    let mut trainer: Trainer<f32> = Trainer::new(system, arm).told()?;
    for _ in 0..PILOT_UPDATES {
        trainer.step().told()?;
    }
    let model = trainer.model();
    let (rows, steps) = (system.batch_rows(), system.steps());
    let mut rollout = Rollout::new(model.program(), rows, steps, system.spec())?;
    let mut workspace = Workspace::new(&rollout, &[Cut::FF])?;
    let mut norms = Vec::new();
    for update in 0..PILOT_BATCHES {
        let key = BatchKey { seed: PILOT_SEED, stream: Stream::B, update };
        system.fill_batch(key, &mut rollout)?;
        model.roll(&mut rollout)?;
        workspace.backward(model, &rollout)?;
        norms.push(model.norm(workspace.gradient(0)));
    }
    norms.sort_by(f64::total_cmp);
    let middle = norms.len() / 2;
    Ok(f64::midpoint(norms[middle - 1], norms[middle]))
}
