//! `backcut inspect`: what is in a file that this project wrote.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut_lab::training::{Checkpoint, CheckpointError, Folder, KEY, log};
use backcut_page::report::results::facts_of;
use backcut_text::{escape, thousands, wrapped};
use safetensors::SafeTensors;
use serde_json::{Value, json};

use crate::exit::{Told as _, Verdict, user};
use crate::look::columns;
use crate::say::{self, outln};

/// Options of `backcut inspect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A checkpoint, an export, a log, or the folder of a run
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let is_folder = args.file.is_dir();
    let file = if is_folder { Folder::new(&args.file).checkpoint() } else { args.file.clone() };
    if starts_with(&file, &log::MAGIC)? {
        show_log(&file, args.json)?;
    } else {
        match Checkpoint::load(&file) {
            Ok(checkpoint) => show_checkpoint(&checkpoint, args.json)?,
            Err(CheckpointError::Foreign { what, .. }) if what.contains("kind `export`") => {
                show_export(&file, args.json)?;
            }
            Err(error) => return Err(error).told(),
        }
    }
    if is_folder && !args.json {
        outln!()?;
        show_log(&Folder::new(&args.file).log(), false)?;
    }
    Ok(Verdict::Fine)
}

fn starts_with(path: &Path, magic: &[u8]) -> Result<bool> {
    let mut file = backcut_files::open(path).map_err(|e| {
        user(format!("{}: {e}", path.display()), "give a file or a run's folder that exists")
    })?;
    let mut first = vec![0; magic.len()];
    Ok(file.read_exact(&mut first).is_ok() && first == magic)
}

fn show_checkpoint(checkpoint: &Checkpoint, as_json: bool) -> Result<()> {
    let header = checkpoint.header();
    if as_json {
        let tensors: Vec<Value> = checkpoint
            .tensors()
            .iter()
            .map(|(name, t)| json!({"name": name, "shape": t.shape, "norm": norm(&t.values)}))
            .collect();
        say::json(json!({"header": serde_json::to_value(header)?, "tensors": tensors}))?;
        return Ok(());
    }
    let config = &header.config;
    let weights = |family: &str| {
        let mine = checkpoint.tensors().iter().filter(|(name, _)| name.starts_with(family));
        mine.map(|(_, t)| t.values.len()).sum::<usize>()
    };
    outln!("checkpoint, format {}, numerics {}", header.format, header.numerics)?;
    outln!("  system     {}", config.system.name)?;
    outln!("{}", listed(&config.system.settings))?;
    outln!("  cut        {}", config.cut)?;
    outln!("  seed       {}, stream {:?}", config.seed, header.stream)?;
    outln!(
        "  update     {} of {} ({} step {})",
        header.update,
        config.updates,
        config.optimizer.rule.kind().title(),
        header.adam_step
    )?;
    if let Some(start) = &config.start {
        outln!("  branched   after update {} of run {:.16}", start.update, start.config)?;
    }
    outln!("  optimizer")?;
    outln!("{}", listed(&serde_json::to_value(&config.optimizer)?))?;
    outln!("  config     {:.16}... (SHA-256)", header.config_hash)?;
    outln!("  content    {:.16}... (SHA-256)", header.digest)?;
    outln!(
        "  parameters {} weights, hash {}",
        thousands(weights("param/")),
        header.parameter_hash
    )?;
    let memory = config.optimizer.rule.kind().memory();
    let [first, second] = [0, 1].map(|i| memory.get(i).copied().unwrap_or_default());
    let head =
        format!("{:<24} {:>12} {:>12} {first:>12} {second:>12}", "parameter", "shape", "norm");
    outln!("\n{}", head.trim_end())?;
    for (name, tensor) in checkpoint.tensors() {
        let Some(name) = name.strip_prefix("param/") else { continue };
        let shape = tensor.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ");
        let of = |family: &str| {
            let moment = checkpoint.tensors().get(&format!("{family}/{name}"));
            moment.map_or_else(String::new, |t| format!("{:.4e}", norm(&t.values)))
        };
        let (own, first, second) = (norm(&tensor.values), of(first), of(second));
        let line = format!("{name:<24} {shape:>12} {own:>12.5} {first:>12} {second:>12}");
        outln!("{}", line.trim_end())?;
    }
    Ok(())
}

fn norm(values: &[f32]) -> f64 {
    backcut_kernels::optim::global_norm(values)
}

fn show_log(path: &Path, as_json: bool) -> Result<()> {
    let records = log::read(path).told()?;
    let clipped = records.iter().filter(|r| r.update.is_clipped()).count();
    let evaluations: Vec<(u64, f64)> =
        records.iter().filter_map(|r| Some((r.update.update, r.evaluation?))).collect();
    let ends = records.first().zip(records.last());
    if as_json {
        let ends = ends.map(|(a, b)| [a.update.update, b.update.update]);
        outln!(
            "{}",
            json!({"kind": "log", "updates": ends, "clipped": clipped, "evaluations": evaluations})
        )?;
        return Ok(());
    }
    let Some((first, last)) = ends else {
        outln!("log without records")?;
        return Ok(());
    };
    let (first, last) = (first.update, last.update);
    outln!("log of updates {} to {}, {clipped} clipped", first.update, last.update)?;
    outln!("  loss {:.5} to {:.5}", first.loss, last.loss)?;
    outln!("  raw norm {:.5} to {:.5}", first.raw_norm, last.raw_norm)?;
    outln!("  last parameter hash {:016x}", last.hash)?;
    for (update, error) in evaluations {
        outln!("  error after update {update}: {error:.6}")?;
    }
    Ok(())
}

fn show_export(path: &Path, as_json: bool) -> Result<()> {
    let bytes = backcut_files::read(path)?;
    let damaged = |e: &dyn std::fmt::Display| {
        user(format!("{}: damaged: {e}", path.display()), "write the export again")
    };
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|e| damaged(&e))?;
    let text = metadata.metadata().as_ref().and_then(|m| m.get(KEY)).cloned().unwrap_or_default();
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| damaged(&e))?;
    let mut names = tensors.names();
    names.sort_unstable();
    let info = |name: &str| -> Option<(String, Vec<usize>)> {
        let view = tensors.tensor(name).ok()?;
        Some((view.dtype().to_string(), view.shape().to_vec()))
    };
    if as_json {
        let header: Value = serde_json::from_str(&text).map_err(|e| damaged(&e))?;
        let list: Vec<Value> = names
            .iter()
            .filter_map(|name| {
                let (dtype, shape) = info(name)?;
                Some(json!({"name": name, "dtype": dtype, "shape": shape}))
            })
            .collect();
        say::json(json!({"header": header, "tensors": list}))?;
        return Ok(());
    }
    outln!("export, {} tensors", names.len())?;
    outln!("{text}\n")?;
    for name in names {
        if let Some((dtype, shape)) = info(name) {
            outln!("{name:<44} {dtype:>4} {shape:?}")?;
        }
    }
    Ok(())
}

/// Settings as words, nested ones by their dotted names, in lines that fit.
fn listed(settings: &serde_json::Value) -> String {
    let word = |(name, value): &(String, String)| {
        format!("{name}={}", if value.is_empty() { "none" } else { value })
    };
    let words: Vec<String> = facts_of(settings).iter().map(word).collect();
    let text = format!("{:13}{}", "", escape::plain(&words.join(", ")));
    wrapped(&text, columns(), 13).trim_end().to_owned()
}
