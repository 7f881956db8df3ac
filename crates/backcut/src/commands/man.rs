//! `backcut man`: manual pages, from the definitions of the commands.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::exit::{Verdict, user};
use crate::say;

/// Print the manual page, or write one page per command into a folder.
#[derive(clap::Args)]
pub struct Args {
    /// Where to write the pages [default: print the main page]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, definition: clap::Command) -> anyhow::Result<Verdict> {
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(definition).render(&mut page).context("failed to render")?;
        say::raw(page)?;
        return Ok(Verdict::Fine);
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(definition, folder))
        .map_err(|error| {
            let what = format!("failed to write to {}: {error}", folder.display());
            user(what, "name a folder that can be written")
        })?;
    Ok(Verdict::Fine)
}
