//! `backcut evaluate`: a checkpoint on the fixed panel, under its own forward or another.

use std::path::PathBuf;

use anyhow::Result;
use backcut_engine::{Cpu, Executor};
use backcut_systems::System;
use backcut_training::{Evaluator, Panel};

use crate::exit::Verdict;
use crate::quadrotor::{ForwardArgs, describe, load, paper_error, settings, user};

/// Options of `backcut evaluate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The checkpoint
    checkpoint: PathBuf,
    #[command(flatten)]
    forward: ForwardArgs,
    /// Print JSON with the error of every trajectory
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let checkpoint = load(&args.checkpoint)?;
    let header = checkpoint.header();
    let system = args.forward.resolve(settings(&header.config.system)?)?;
    let program = System::<f32>::program(&system);
    let state = checkpoint.state(program.layout()).map_err(|e| user(&e, e.hint()))?;
    let executor: &dyn Executor<f32> = Cpu::detect();
    let model = executor.model(program, state.params)?;
    let hint = "choose a window between 1 and the number of steps";
    let mut evaluator = Evaluator::new(executor, &system).map_err(|e| user(e, hint))?;
    let panel = evaluator.evaluate(&system, &model).map_err(|e| {
        user(format!("the panel: {e}"), "the policy leaves the chart under this forward")
    })?;
    let paper = paper_error(system.config().velocity);
    if args.json {
        let json = serde_json::json!({
            "checkpoint": args.checkpoint,
            "update": header.update,
            "cut": header.config.cut,
            "seed": header.config.seed,
            "system": serde_json::to_value(system.config())?,
            "mean_error_m2": panel.mean,
            "paper_ff_error_m2": paper,
            "errors_m2": panel.errors,
        });
        println!("{json}");
        return Ok(Verdict::Fine);
    }
    println!(
        "{}: update {}, cut {}, seed {}",
        args.checkpoint.display(),
        header.update,
        header.config.cut,
        header.config.seed
    );
    println!("evaluated with {}, {} trajectories", describe(system.config()), panel.errors.len());
    let [low, middle, high] = quartiles(&panel);
    println!(
        "tracking error (m^2): mean {:.5}, quartiles {low:.5} {middle:.5} {high:.5}",
        panel.mean
    );
    if let Some(paper) = paper {
        println!("the paper's FF after 1000 updates: {paper:.5}");
    }
    Ok(Verdict::Fine)
}

/// The errors a quarter, half and three quarters of the way up.
fn quartiles(panel: &Panel) -> [f64; 3] {
    let mut sorted = panel.errors.clone();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[quarter * (sorted.len() - 1) / 4])
}
