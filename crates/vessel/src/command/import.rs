//! `backcut vessel import`: files of positions to a store, with a funnel of what was dropped and
//! why.

use std::path::PathBuf;

use crate::Import;
use crate::read::Limits;
use anyhow::Result;
use backcut::command::{Counts, Told as _, Verdict, bar, print};

use super::{RuleArgs, funnel};

/// Options of `backcut vessel import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads MarineCadastre (older and newer), Danish (aisdk) and plain track CSV files
(track_id,unix_time,lat,lon), also as .gz, .zst and .zip. Name files of several
days in the order of time. Rules and formats: docs/vessel-data.md.")]
pub struct Args {
    /// The files, in the order of time
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The folder that becomes a store
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    rules: RuleArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let sizes = args.files.iter().filter_map(|path| std::fs::metadata(path).ok());
    let bar = bar("", sizes.map(|meta| meta.len()).sum(), Counts::Bytes);
    let import = Import {
        files: &args.files,
        out: &args.out,
        rules: args.rules.rules(),
        limits: Limits::default(),
        reserve: args.rules.reserve,
    };
    let outcome = import.run(&mut |bytes| bar.inc(bytes));
    bar.finish_and_clear();
    print(funnel::table(&outcome.told()?))
}
