//! `backcut study freeze` and `amend`: predictions into the ledger, and its head before an authority.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use backcut_ledger::{Body, Stamp, Utc, timestamp};
use backcut_study::{Store, StudyError, Tools, commit};

use super::{OUT, Target};
use crate::common::write;
use crate::exit::{Told as _, Verdict, user};
use crate::say::outln;
use backcut_text::counted;

/// Options of `backcut study freeze`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Study file, or the name of a built-in study; not needed with --timestamp-...
    #[arg(required_unless_present_any = ["timestamp_request", "timestamp_response"])]
    file: Option<PathBuf>,
    /// Results folder, shared by all studies
    #[arg(long, value_name = "DIR", default_value = OUT)]
    out: PathBuf,
    /// Write an RFC 3161 time-stamp query for the ledger's head (after freezing, if FILE is given)
    #[arg(long, value_name = "QUERY")]
    timestamp_request: Option<PathBuf>,
    /// Store an authority's response for the head; it is verified offline against --trust
    #[arg(long, value_name = "RESPONSE", requires = "trust", conflicts_with_all = ["file", "timestamp_request"])]
    timestamp_response: Option<PathBuf>,
    /// Certificates (PEM) of the authorities that are trusted
    #[arg(long, value_name = "PEM")]
    trust: Option<PathBuf>,
}

/// Options of `backcut study amend`.
#[derive(Debug, clap::Args)]
pub struct AmendArgs {
    #[command(flatten)]
    target: Target,
    /// Why, in a sentence; it stays in the ledger
    #[arg(long)]
    reason: String,
}

/// The time as the ledger writes it.
pub fn now() -> Utc {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    Utc::from_unix(seconds).unwrap_or_else(|| Utc::from_unix(0).expect("the epoch is a time"))
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let store = Store::new(&args.out);
    if let Some(file) = &args.file {
        let (study, plan, store) =
            Target { file: file.clone(), out: args.out.clone() }.open(tools)?;
        let head = commit::freeze(&study, &plan, &store, now()).told()?;
        outln!("frozen: study {} ({})", study.name, counted(plan.units.len(), "unit"))?;
        for family in &study.families {
            outln!(
                "  {}: {}, asks to be {}",
                family.table.name,
                counted(family.params.contrasts.len(), "contrast"),
                family.asks
            )?;
        }
        outln!("head    {head}")?;
    }
    if let Some(path) = &args.timestamp_request {
        let ledger = commit::ledger(&store).told()?;
        if ledger.entries().is_empty() {
            let what = "the ledger is empty: there is nothing to stamp";
            return Err(user(what, "freeze a study first"));
        }
        write(path, timestamp::request(ledger.head()))?;
        outln!("query   {} for head {}", path.display(), ledger.head())?;
    }
    if let (Some(path), Some(trust)) = (&args.timestamp_response, &args.trust) {
        stamp(&store, path, trust)?;
    }
    Ok(Verdict::Fine)
}

fn stamp(store: &Store, path: &Path, trust: &Path) -> Result<()> {
    let bytes = backcut_files::read(path).map_err(|error| {
        user(format!("{}: {error}", path.display()), "give the authority's response")
    })?;
    let mut ledger = commit::ledger(store).told()?;
    let refuse = |error: timestamp::TimestampError| {
        let what = format!("{}: {error}", path.display());
        user(what, "ask the authority again, with a query for the present head")
    };
    let read = timestamp::verify(ledger.head(), &bytes, trust).map_err(refuse)?;
    let body = Stamp::of_response(&bytes).map_err(refuse)?;
    debug_assert!(matches!(body, Body::Timestamp(_)));
    ledger.append(now(), body).map_err(StudyError::from).told()?;
    outln!("stamped the head at {} by {}", read.time, read.authority)?;
    Ok(())
}

/// Runs `backcut study amend`.
pub fn amend(args: &AmendArgs, tools: Tools) -> Result<Verdict> {
    let (study, plan, store) = args.target.open(tools)?;
    let head = commit::amend(&study, &plan, &store, now(), &args.reason).told()?;
    outln!("amended: study {}\nhead    {head}", study.name)?;
    Ok(Verdict::Fine)
}
