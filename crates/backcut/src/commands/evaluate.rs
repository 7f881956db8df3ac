//! `backcut evaluate`: a checkpoint on the fixed panel, under its own forward or another.

use backcut_engine::Model;
use std::path::PathBuf;

use anyhow::Result;
use backcut_lab::training::{Evaluator, Panel};
use backcut_study::Tools;
use backcut_systems::Quantity;

use crate::common::{described, load};
use crate::exit::{Told as _, Verdict, user};
use crate::publication::{Publication, Published};
use crate::say::{self, outln};
use crate::settings::SettingArgs;

/// Options of `backcut evaluate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The checkpoint, or the folder of a run (its latest state)
    checkpoint: PathBuf,
    #[command(flatten)]
    settings: SettingArgs,
    /// Print JSON with the error of every trajectory
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools, publication: Option<&dyn Publication>) -> Result<Verdict> {
    let checkpoint = load(&args.checkpoint)?;
    let header = checkpoint.header();
    if args.settings.is_empty() {
        tools.catalogue.restore(&header.config.system).told()?;
    }
    let built = args.settings.over(&header.config.system, tools.catalogue)?;
    let system = built.system();
    let state = checkpoint.state(system.program().layout()).told()?;
    let model = Model::new(system.program(), state.params)?;
    let evaluator = Evaluator::new(system).told();
    let panel = evaluator?.evaluate(system, &model).map_err(|e| {
        user(format!("the panel: {e}"), "the policy fails under this forward: choose another")
    })?;
    let published = publication.and_then(|p| p.error_of(&built.choice));
    let reference = system.reference()?.map(|r| (r.name, Panel::new(r.errors).mean));
    if args.json {
        let json = serde_json::json!({
            "checkpoint": args.checkpoint,
            "update": header.update,
            "cut": header.config.cut,
            "seed": header.config.seed,
            "system": built.choice,
            "error": built.error,
            "mean_error": panel.mean,
            "paper_ff_error": published.map(|p| p.error),
            "reference": reference.map(|(name, mean)| serde_json::json!({"name": name, "mean_error": mean})),
            "errors": panel.errors,
        });
        say::json(json)?;
        return Ok(Verdict::Fine);
    }
    outln!(
        "{}: update {}, cut {}, seed {}",
        args.checkpoint.display(),
        header.update,
        header.config.cut,
        header.config.seed
    )?;
    outln!("evaluated with {}, {} trajectories", described(&built), panel.errors.len())?;
    let [low, middle, high] = quartiles(&panel);
    let Quantity { name, unit } = built.error;
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    outln!("{name}{unit}:")?;
    outln!("mean {:.5}, quartiles {low:.5} {middle:.5} {high:.5}", panel.mean)?;
    if let Some((name, mean)) = reference {
        outln!("{name}: mean {mean:.5}; the policy's is {:.3} times that", panel.mean / mean)?;
    }
    if let Some(Published { name, update, error }) = published {
        outln!("the {name} after {update} updates: {error:.5}")?;
    }
    Ok(Verdict::Fine)
}

/// The errors a quarter, half and three quarters of the way up.
fn quartiles(panel: &Panel) -> [f64; 3] {
    let mut sorted = panel.errors.clone();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[quarter * (sorted.len() - 1) / 4])
}
