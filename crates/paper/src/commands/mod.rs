//! What a program gains by the paper: its studies run as a whole, its candidates scored, and the
//! measurements that serve one of its tables each.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut::command::{Extra, Tools, Verdict, cannot_write, print_document, user, write};

use crate::publication::beside;

mod analytic;
mod calibrate;
mod orderings;
mod orderings_cases;
mod reproduce;
mod streams;

/// The paper's commands, for a program to add.
pub fn commands() -> [Extra; 7] {
    [
        Extra::new(
            "calibrate",
            "Score candidate configurations of the quadrotor by what the paper publishes where \
             nothing is cut",
            calibrate::run,
        ),
        Extra::new(
            "reproduce",
            "Run built-in studies and end in a page beside the paper",
            reproduce::run,
        ),
        Extra::new(
            "streams",
            "Whether the two sampling streams draw from the same distribution",
            streams::run,
        )
        .under("measure"),
        Extra::new(
            "orderings",
            "Whether local scores say which graph persistent training prefers, from a study's \
             tables",
            orderings::run,
        )
        .under("measure"),
        Extra::new(
            "analytic",
            "Local diagnostics against persistent training on a small system with known gradients",
            analytic::run,
        )
        .under("measure"),
        Extra::new(
            "finding",
            "What the paper's studies found here, in a few sentences, as Markdown on standard \
             output",
            finding,
        )
        .under("report")
        .quick(),
        Extra::new(
            "reproduction",
            "The comparison with the paper, claim by claim, as Markdown on standard output",
            reproduction,
        )
        .under("report")
        .quick(),
    ]
}

#[derive(clap::Args)]
struct Folder {
    /// The folder of results
    results: PathBuf,
}

fn finding(args: &Folder, _: Tools) -> Result<Verdict> {
    let found = beside(&args.results)?.finding().markdown();
    if found.is_empty() {
        let what = format!("failed to find a study of the paper in {}", args.results.display());
        return Err(user(what, "any other study: backcut report summary RESULTS STUDY"));
    }
    print_document(found)
}

fn reproduction(args: &Folder, _: Tools) -> Result<Verdict> {
    print_document(beside(&args.results)?.markdown())
}

/// Writes a table into a folder, which is made if there is none.
fn save(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    let path = folder.join(name);
    write(&path, bytes)?;
    Ok(path)
}
