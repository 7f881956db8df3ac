//! `backcut study verify` and `replay`: is the folder what it claims, and does it come out again?

use std::path::PathBuf;

use anyhow::Result;
use backcut_study::{Store, Tools, replay, verify};

use crate::exit::{Told as _, Verdict, user};
use crate::say::{note, outln};
use backcut_text::thousands;

/// Options of `backcut study verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Results folder, or a folder of collected tables
    dir: PathBuf,
    /// Certificates (PEM) that time stamps are checked against
    #[arg(long, value_name = "PEM")]
    trust: Option<PathBuf>,
}

/// Options of `backcut study replay`.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// Results folder
    dir: PathBuf,
    /// How many units
    #[arg(long, default_value_t = 5)]
    sample: usize,
    /// Chooses them
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let found = verify::verify(&args.dir, args.trust.as_deref()).told()?;
    for note in found.notes.iter().take(20) {
        note!("note: {note}");
    }
    if found.notes.len() > 20 {
        note!("note: and {} more", found.notes.len() - 20);
    }
    for problem in &found.problems {
        outln!("problem: {problem}")?;
    }
    outln!(
        "{} ledger entries, {} records, {} files beside them, {} table files: {}",
        found.entries,
        thousands(found.records),
        thousands(found.files),
        found.tables,
        if found.is_sound() {
            "sound".to_owned()
        } else {
            format!("{} problems", found.problems.len())
        }
    )?;
    Ok(if found.is_sound() { Verdict::Fine } else { Verdict::Failed })
}

/// Runs `backcut study replay`.
pub fn replay(args: &ReplayArgs, tools: Tools) -> Result<Verdict> {
    if args.sample == 0 {
        return Err(user("--sample 0 replays nothing", "replay at least one unit"));
    }
    let store = Store::new(&args.dir);
    let units = replay::sample(&store, args.sample, args.seed).told()?;
    let scratch = std::env::temp_dir().join(format!("backcut-replay-{}", std::process::id()));
    let mut same = 0;
    for unit in &units {
        let replayed = replay::replay(&store, unit, tools, &scratch);
        let _ = std::fs::remove_dir_all(&scratch); // scratch is scratch
        let replayed = replayed.told()?;
        let words = match &replayed.outcome {
            Ok(()) => "the same bits".to_owned(),
            Err(what) => format!("DIFFERENT: {what}"),
        };
        same += usize::from(replayed.outcome.is_ok());
        outln!("{}  {words}  ({:.1} s)", unit.short(), replayed.seconds)?;
    }
    outln!("{same} of {} replayed units came out the same, bit by bit", units.len())?;
    Ok(if same == units.len() { Verdict::Fine } else { Verdict::Failed })
}
