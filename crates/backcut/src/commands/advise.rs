//! `backcut advise`: a finished study in plain sentences.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut_study::advise::{Advice, Sentence};
use backcut_study::collect::Results;
use backcut_study::{Plan, Store, Study, commit, note};
use backcut_text::wrapped;

use crate::exit::{Told as _, Verdict, user};
use crate::look::columns;
use crate::say::outln;

/// Options of `backcut advise`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of a study's collected tables, with its ledger one level up
    #[arg(long, value_name = "DIR")]
    study: PathBuf,
    /// A cut within this share of FF's error is close enough
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, allow_negative_numbers = true)]
    margin: f64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    if !(args.margin > 0.0 && args.margin < 10.0) {
        let what = format!("--margin {}", args.margin);
        return Err(user(what, "a share of FF's error, as 0.05 for five percent"));
    }
    let study = study(&args.study)?;
    let plan = Plan::new(&study);
    let results = Results::from_tables(&args.study, &study, &plan).told()?;
    let advice = Advice { margin: args.margin, ..Advice::default() };
    outln!("{}: {}", study.name, study.title)?;
    let mut condition = None;
    for sentence in advice.on(&results) {
        if sentence.condition != condition || sentence.condition.is_none() {
            outln!()?;
            if let Some(name) = &sentence.condition {
                outln!("{name}")?;
            }
        }
        let Sentence { condition: now, .. } = &sentence;
        let indent = if now.is_some() { "  " } else { "" };
        let text = wrapped(&format!("{indent}{sentence}"), columns(), indent.len());
        outln!("{}", text.trim_end())?;
        condition = sentence.condition;
    }
    Ok(Verdict::Fine)
}

/// The study of a folder of tables: from the ledger that travels with it, or as it was noted in the
/// results folder.
fn study(folder: &Path) -> Result<Study> {
    let about = folder.join("about.json");
    let text = backcut_files::read_text(&about).map_err(|error| {
        let what = format!("{}: {error}", about.display());
        user(
            what,
            "give a folder that `backcut study collect` made, as backcut-results/tables/NAME",
        )
    })?;
    let about: serde_json::Value = serde_json::from_str(&text)?;
    let name = about["study"].as_str().unwrap_or_default();
    let folder = std::path::absolute(folder)?;
    let beside = folder.parent().unwrap_or(&folder);
    let is_inside = beside.file_name().is_some_and(|name| name == "tables");
    let results = beside.parent().filter(|_| is_inside);
    for store in [Some(beside), results].into_iter().flatten().map(Store::new) {
        let ledger = commit::ledger(&store).told()?;
        let frozen = commit::latest(&ledger, name).map(|frozen| frozen.canonical.clone());
        let canonical = match frozen {
            Some(canonical) => Some(canonical),
            None => note::canonical(&store, name).told()?,
        };
        if let Some(canonical) = canonical {
            let study = Study::from_canonical(&canonical).told()?;
            return Ok(commit::draw_sources(study, &ledger));
        }
    }
    let what =
        format!("study {name} is neither in a ledger beside its tables nor noted above them");
    Err(user(what, "keep ledger.jsonl beside the tables, or the tables in their results folder"))
}
