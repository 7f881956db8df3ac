//! `backcut vessel show`: what a store holds and how it would be divided.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::model::{Part, Shape, Split, SplitBy, SplitRule, panels, valid_starts};
use crate::{Reserved, store};
use anyhow::Result;
use backcut::command::{Told as _, Verdict, print};
use backcut_text::{counted, thousands};

use super::funnel;

/// Options of `backcut vessel show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The store
    store: PathBuf,
    /// Hold out whole vessels or cruises instead of segments of each
    #[arg(long)]
    by_vessel: bool,
    /// The share that is held out
    #[arg(long, value_name = "SHARE", default_value_t = SplitRule::default().held_out)]
    held_out: f64,
    /// Steps that are predicted, after 16 observed ones
    #[arg(long, value_name = "STEPS", default_value_t = Shape::default().predicted)]
    predicted: usize,
    /// Include the reserved vessels. Nobody should, before the end
    #[arg(long)]
    include_reserved: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let reserved = if args.include_reserved { Reserved::Included } else { Reserved::Excluded };
    let tracks = store::open(&args.store, reserved).told()?;
    let mut out = funnel::table(&store::read_manifest(&args.store).told()?);
    let by = if args.by_vessel { SplitBy::Vessel } else { SplitBy::Segment };
    let rule = SplitRule { by, held_out: args.held_out, ..SplitRule::default() };
    let shape = Shape { predicted: args.predicted, ..Shape::default() };
    let split = Split::of(&tracks, &rule).told()?;
    let [development, evaluation] = panels(&tracks, &split, &shape).told()?;
    let training = split.segments(Part::Training);
    let starts = training
        .iter()
        .map(|i| valid_starts(&tracks.segments()[*i], tracks.step_seconds(), &shape).len());
    let _ = writeln!(
        out,
        "training: {}, {} starts of windows",
        counted(training.len(), "segment"),
        thousands(starts.sum())
    );
    for (name, part, panel) in [
        ("development", Part::Development, development),
        ("evaluation", Part::Evaluation, evaluation),
    ] {
        let _ = writeln!(
            out,
            "{name}: {}, {}, {} without a valid one",
            counted(split.segments(part).len(), "segment"),
            counted(panel.windows.len(), "window"),
            panel.left_out.len()
        );
    }
    print(out)
}
