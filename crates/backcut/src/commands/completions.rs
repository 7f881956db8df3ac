//! `backcut completions`: tab completion for a shell, from the definitions of the commands.

use clap_complete::Shell;

use crate::exit::Verdict;
use crate::say;

/// Print a completion script for a shell.
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &Args, mut definition: clap::Command) -> anyhow::Result<Verdict> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition, "backcut", &mut script);
    say::raw(script)?;
    Ok(Verdict::Fine)
}
