//! `backcut study`: from a file to frozen predictions, runs, tables and verdicts.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut_study::{Plan, Store, Study, StudyError, Tools, builtin, commit, note};
use backcut_systems::Catalogue;
use clap::Subcommand;

use crate::exit::{Told as _, Verdict, user};
use crate::say::out;

pub mod collect;
mod commands;
mod extend;
pub mod freeze;
mod plan;
pub mod run;
mod slurm;
mod status;
mod verify;
mod watch;
pub mod whole;

/// Where results are kept unless --out says otherwise.
pub const OUT: &str = "backcut-results";

/// Options of `backcut study`.
#[derive(clap::Args)]
#[command(after_help = "\
A study is a TOML file; `backcut study template` prints one to start from. FILE may also be the name
of a study that is built in; a name that is not is answered with those that are.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a commented study file to start from.
    Template,
    /// Print the JSON schema of study files, for editors.
    Schema,
    /// Say what a study will compute: units, updates, time, disk.
    Plan(plan::Args),
    /// Write a study's predictions into the ledger, before its results exist.
    Freeze(freeze::Args),
    /// Change a frozen study, with a reason that stays in the ledger.
    Amend(freeze::AmendArgs),
    /// Ask a frozen study's question of more sources, which are drawn; the study itself stays as it
    /// is.
    Extend(extend::Args),
    /// Compute what is missing, here or on Slurm; safe to stop and to repeat.
    Run(run::Args),
    /// Compare the plan with the files; beside it, Slurm's queue.
    Status(status::Args),
    /// Watch a study as it runs: units, curves, failures.
    Watch(watch::Args),
    /// Make tidy tables and verdicts from the results.
    Collect(collect::Args),
    /// Check every hash, the ledger's chain, commitments and completeness.
    Verify(verify::Args),
    /// Compute random units again and compare them bit by bit.
    Replay(verify::ReplayArgs),
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    match &args.command {
        Command::Template => {
            out!("{}", builtin::TEMPLATE)?;
            Ok(Verdict::Fine)
        }
        Command::Schema => {
            out!("{}", backcut_study::file::schema())?;
            Ok(Verdict::Fine)
        }
        Command::Plan(args) => plan::run(args, tools),
        Command::Freeze(args) => freeze::run(args, tools),
        Command::Amend(args) => freeze::amend(args, tools),
        Command::Run(args) if args.executor == run::Executor::Slurm => slurm::submit(args, tools),
        Command::Extend(args) => extend::run(args, tools),
        Command::Run(args) => run::run(args, tools),
        Command::Status(args) => status::run(args, tools),
        Command::Watch(args) => watch::run(args, tools),
        Command::Collect(args) => collect::run(args, tools),
        Command::Verify(args) => verify::run(args),
        Command::Replay(args) => verify::replay(args, tools),
    }
}

/// The study file and the results folder, which every subcommand but a few needs.
#[derive(Debug, Clone, clap::Args)]
pub struct Target {
    /// Study file, or the name of a built-in study
    pub file: PathBuf,
    /// Results folder, shared by all studies
    #[arg(long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
}

impl Target {
    /// Reads, resolves and plans.
    pub fn open(&self, tools: Tools) -> Result<(Study, Plan, Store)> {
        let store = Store::new(&self.out);
        let study = load(&self.file, tools.catalogue).told()?;
        let (study, plan) = commit::in_folder(study, &store).told()?;
        Ok((study, plan, store))
    }

    /// The same for commands that only read what ran: a folder that does not exist was misspelt.
    pub fn open_existing(&self, tools: Tools) -> Result<(Study, Plan, Store)> {
        let opened = self.open(tools)?;
        if !self.out.is_dir() {
            let what = format!("{}: no such folder, so nothing ran there", self.out.display());
            return Err(user(what, "name the folder of `backcut study run --out DIR`"));
        }
        Ok(opened)
    }
}

/// Whether a built-in study is meant, not a file.
fn is_builtin(file: &Path) -> bool {
    !file.exists() && file.extension().is_none() && file.components().count() == 1
}

/// A study file, a built-in study by name, or a study as a results folder notes it.
pub fn load(file: &Path, catalogue: &Catalogue) -> Result<Study, StudyError> {
    if file.extension().is_some_and(|ending| ending == "json") {
        return note::read(file);
    }
    let studies = catalogue.studies();
    if !is_builtin(file) || studies.is_empty() {
        return Study::load(file, catalogue);
    }
    let embedded = file.with_extension("toml");
    // As if the file lay in a folder of its own with the others, which it may name.
    let read = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        let found = studies.iter().find(|(file, _)| Path::new(file) == Path::new(name));
        let none = "no such study file, and none of that name is built in";
        let none = || io::Error::new(io::ErrorKind::NotFound, none);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(none)
    };
    if read(&embedded).is_ok() {
        return Study::load_with(&embedded, catalogue, &read);
    }
    let names: Vec<&str> = studies.iter().map(|(file, _)| file.trim_end_matches(".toml")).collect();
    Err(StudyError::invalid(
        format!("{}: no such file, and no built-in study of that name", file.display()),
        format!("built in: {}", names.join(" ")),
    ))
}
