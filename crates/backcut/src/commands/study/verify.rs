//! `backcut study verify` and `replay`: is the folder what it claims, and does it come out again?

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use backcut_study::replay::{CameOut, Depth};
use backcut_study::{Store, Tools, replay, verify};

use crate::exit::{Told as _, Verdict, user};
use crate::look::{Tone, Tones};
use crate::say::{judged, note, outln};
use backcut_evidence::tables::rows::FreezeRow;
use backcut_text::{counted, escape};

/// Options of `backcut study verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Results folder, or a folder of collected tables
    dir: PathBuf,
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
    /// Start from initialization: compute what a unit branches from again too
    #[arg(long)]
    deep: bool,
}

/// Words that decide.
const TONES: Tones = &[
    ("sound", Tone::Good),
    ("the same bits", Tone::Good),
    ("within the declared tolerance", Tone::Good),
    ("not replayed", Tone::Open),
    ("DIFFERENT", Tone::Bad),
    ("problem", Tone::Bad),
    ("problems", Tone::Bad),
];

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let found = verify::verify(&args.dir).told()?;
    for note in found.notes.iter().take(20) {
        note!("note: {note}");
    }
    if found.notes.len() > 20 {
        note!("note: and {} more", found.notes.len() - 20);
    }
    for problem in &found.problems {
        outln!("problem: {problem}")?;
    }
    for line in frozen(&found.freezes) {
        outln!("{line}")?;
    }
    judged!(
        TONES,
        "{}, {}, {} beside them, {}, {} judged again: {}",
        counted(found.entries, "ledger entry"),
        counted(found.records, "record"),
        counted(found.files, "file"),
        counted(found.tables, "table file"),
        counted(found.rows, "row"),
        if found.is_sound() {
            "sound".to_owned()
        } else {
            counted(found.problems.len(), "problem")
        }
    )?;
    Ok(if found.is_sound() { Verdict::Fine } else { Verdict::Failed })
}

/// Everything that was frozen, and what became of it.
fn frozen(rows: &[FreezeRow]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        let FreezeRow { entry, utc, study, kind, fate, opposed, .. } = row;
        let predictions = counted(row.predictions as usize, "prediction");
        lines.push(format!("entry {entry:<3} {utc}  {kind} of {study}, {predictions}: {fate}"));
        if row.sources != "chosen" {
            lines.push(format!("          sources: {}", row.sources));
        }
        if !opposed.is_empty() {
            lines.push(format!("          opposed on the same results: {opposed}"));
        }
    }
    lines
}

/// Runs `backcut study replay`.
pub fn replay(args: &ReplayArgs, tools: Tools) -> Result<Verdict> {
    if args.sample == 0 {
        return Err(user("--sample 0 replays nothing", "replay at least one unit"));
    }
    let store = Store::new(&args.dir);
    let units = replay::sample(&store, args.sample, args.seed).told()?;
    let depth = if args.deep { Depth::Deep } else { Depth::Kept };
    let (mut same, mut within, mut impossible) = (0, 0, 0);
    for unit in &units {
        // Nobody can foresee it or put a saved state there, nor did a killed replay leave one.
        let scratch = tempfile::Builder::new().prefix("backcut-replay-").tempdir();
        let scratch = scratch.context("cannot make a folder for temporary files")?;
        let replayed = replay::replay(&store, unit, tools, scratch.path(), depth).told()?;
        let words = match &replayed.outcome {
            Ok(CameOut::Same) => {
                same += 1;
                "the same bits".to_owned()
            }
            Ok(CameOut::Within(largest)) => {
                within += 1;
                format!("within the declared tolerance, differs by {largest:.1e}")
            }
            Ok(CameOut::Impossible) => {
                impossible += 1;
                "not replayed: the study declares it impossible".to_owned()
            }
            Err(what) => format!("DIFFERENT: {}", escape::plain(what)),
        };
        judged!(TONES, "{}  {words}  ({:.1} s)", unit.short(), replayed.seconds)?;
    }
    outln!("{same} of {} replayed units came out the same, bit by bit", units.len())?;
    if within > 0 {
        outln!("{within} came out within the tolerance that their study declares")?;
    }
    if impossible > 0 {
        outln!("{impossible} were declared impossible to replay: nothing is known of them")?;
    }
    // A verdict on nothing would be none.
    let is_fine = same + within > 0 && same + within + impossible == units.len();
    Ok(if is_fine { Verdict::Fine } else { Verdict::Failed })
}
