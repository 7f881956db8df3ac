//! `backcut study extend`: more sources for a frozen study, as a study of its own.
//!
//! An amendment could only be post hoc: whoever asks for more sources has seen the first ones. So
//! the first study stays what it is, and the extension draws its own sources by its own entry: the
//! same arms, conditions and predictions, asked once more of sources that nobody has seen.

use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::Result;
use backcut_study::{Plan, Study, Tools, commit};

use super::Target;
use super::freeze::now;
use crate::exit::{Told as _, Verdict, user};
use crate::say::{note, outln};

/// Options of `backcut study extend`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// How many sources are added; their seeds are drawn
    #[arg(long, value_name = "N")]
    sources: NonZeroU64,
    /// Name of the extension, and of its file beside the study's [default: NAME-more]
    #[arg(long)]
    name: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let (study, _, store) = args.target.open_existing(tools)?;
    let first = &study.name;
    if commit::latest(&commit::ledger(&store).told()?, first).is_none() {
        let what = format!("study {first} is not frozen here");
        return Err(user(what, "nothing is lost by more sources then: write them into its file"));
    }
    commit::is_new(&study, &store).told()?; // a file that differs is another study's
    let file = &args.target.file;
    if study.arms.iter().any(|arm| arm.origin.is_some()) || file.extension().is_none() {
        let what = format!("study {first} takes its sources over, or has no file of its own");
        return Err(user(what, "extend the study that it takes them from"));
    }
    let name = args.name.clone().unwrap_or_else(|| format!("{first}-more"));
    let path: PathBuf = file.with_file_name(format!("{name}.toml"));
    if path.exists() {
        let what = format!("{} is there already", path.display());
        return Err(user(what, "choose another --name"));
    }
    let like = file.file_name().unwrap_or_default().to_string_lossy();
    let title = format!("{} ({} more sources)", study.title, args.sources);
    let text = format!(
        "# The same question, asked of more sources, which its entry draws.\n\
         # Study {first} stays as it is.\n\
         like = [{like:?}]\nname = {name:?}\ntitle = {title:?}\n\n[sources]\ndraw = {}\n",
        args.sources
    );
    let read = |wanted: &std::path::Path| {
        if *wanted == path { Ok(text.clone()) } else { std::fs::read_to_string(wanted) }
    };
    let extension = Study::load_with(&path, tools.catalogue, &read).told()?;
    let (extension, plan): (Study, Plan) = commit::in_folder(extension, &store).told()?;
    let told = |e| user(format!("{}: {e}", path.display()), "check its folder's permissions");
    backcut_files::replace(&path, text.as_bytes()).map_err(told)?;
    let frozen = commit::freeze(&extension, &plan, &store, now());
    if frozen.is_err() {
        let _ = std::fs::remove_file(&path); // made a moment ago, and of no use
    }
    let head = frozen.told()?;
    outln!("frozen: study {name}, {} sources drawn, in {}", args.sources, path.display())?;
    outln!("head    {head}")?;
    note!("hint: backcut study run {}; {first} keeps what it was granted", path.display());
    Ok(Verdict::Fine)
}
