//! A program over a catalogue: the commands of every program, and those that it adds.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use backcut_study::Tools;
use backcut_systems::Catalogue;
use clap::{ArgMatches, Args, Command, CommandFactory as _, FromArgMatches as _};

use crate::commands::report;
use crate::exit::{self, Verdict};
use crate::publication::Publication;
use crate::{Cli, program, say, settings};

/// A command that not every program has.
pub struct Extra {
    /// The command that it is a part of, as `measure`; none if it stands for itself.
    under: Option<&'static str>,
    name: &'static str,
    is_quick: bool,
    describe: fn(&'static str, &'static str) -> Command,
    about: &'static str,
    run: Box<Run>,
}

/// What came of it, or what is wrong with the line: some values are only read here.
type Run = dyn Fn(&ArgMatches, Tools) -> Result<Result<Verdict>, clap::Error>;

impl Extra {
    /// A command with these arguments.
    pub fn new<A: Args + 'static>(
        name: &'static str,
        about: &'static str,
        run: fn(&A, Tools) -> Result<Verdict>,
    ) -> Self {
        let run = move |matches: &ArgMatches, tools: Tools| {
            A::from_arg_matches(matches).map(|args| run(&args, tools))
        };
        let describe =
            |name, about| A::augment_args(Command::new(name)).about(about).long_about(None);
        Self { under: None, name, is_quick: false, describe, about, run: Box::new(run) }
    }

    /// The same as a part of a command that every program has.
    #[must_use]
    pub fn under(self, command: &'static str) -> Self {
        Self { under: Some(command), ..self }
    }

    /// It computes nothing, so that an unoptimised build is as good as any.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { is_quick: true, ..self }
    }

    fn join(&self, command: Command) -> Command {
        let own = (self.describe)(self.name, self.about);
        match self.under {
            Some(parent) => command.mut_subcommand(parent, |parent| parent.subcommand(own)),
            None => command.subcommand(own),
        }
    }

    /// Its own matches, if the line asks for it.
    fn asked<'m>(&self, matches: &'m ArgMatches) -> Option<&'m ArgMatches> {
        let matches = match self.under {
            Some(parent) => matches.subcommand_matches(parent)?,
            None => matches,
        };
        let (name, own) = matches.subcommand()?;
        (name == self.name).then_some(own)
    }
}

/// What a program is made of.
///
/// ```no_run
/// use backcut::prelude::*;
///
/// fn main() -> std::process::ExitCode {
///     App::new(&Catalogue::builtin()).run()
/// }
/// ```
pub struct App<'a> {
    catalogue: &'a Catalogue,
    commands: Vec<Extra>,
    publication: Option<&'a dyn Publication>,
}

impl<'a> App<'a> {
    /// A program over these systems, with the commands that every program has.
    pub fn new(catalogue: &'a Catalogue) -> Self {
        Self { catalogue, commands: Vec::new(), publication: None }
    }

    /// Adds commands.
    #[must_use]
    pub fn with(mut self, commands: impl IntoIterator<Item = Extra>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Sets a publication beside the program's own results.
    #[must_use]
    pub fn beside(self, publication: &'a dyn Publication) -> Self {
        Self { publication: Some(publication), ..self }
    }

    /// Runs the command line that this process was started with.
    pub fn run(self) -> ExitCode {
        ExitCode::from(self.answer_to(std::env::args_os()))
    }

    /// Runs a line for a process that is another program, as Python is; gives its exit code. The
    /// first word is what jobs that are submitted have to call: this program's path is not it.
    pub fn run_line(self, line: Vec<OsString>) -> u8 {
        let mut words = line.into_iter();
        if let Some(program) = words.next() {
            program::is_at(program.into());
        }
        let name = OsString::from(Cli::command().get_name());
        self.answer_to(std::iter::once(name).chain(words))
    }

    fn answer_to(self, line: impl IntoIterator<Item = OsString>) -> u8 {
        let command = self.definition();
        let matches = match command.clone().try_get_matches_from(line) {
            Ok(matches) => matches,
            Err(answer) => return exit::answer(&answer),
        };
        let tools = Tools::new(self.catalogue);
        for extra in &self.commands {
            if let Some(own) = extra.asked(&matches) {
                note_speed(!extra.is_quick);
                return match (extra.run)(own, tools) {
                    Ok(outcome) => exit::report(outcome),
                    Err(answer) => exit::answer(&answer),
                };
            }
        }
        match Cli::from_arg_matches(&matches) {
            Ok(cli) => {
                note_speed(cli.command.computes());
                exit::report(cli.command.run(tools, self.publication, command))
            }
            Err(answer) => exit::answer(&answer),
        }
    }

    /// Every command with every option.
    fn definition(&self) -> Command {
        let mut command = self.commands.iter().fold(Cli::command(), |command, e| e.join(command));
        if self.publication.is_some() {
            command = report::offer_paper(command);
        }
        settings::offer_flags(command, &self.catalogue.flags())
    }
}

/// Runs the command line over a catalogue of systems.
pub fn main_with(catalogue: &Catalogue) -> ExitCode {
    App::new(catalogue).run()
}

fn note_speed(computes: bool) {
    if computes && let Some(warning) = unoptimised(backcut_engine::OPT_LEVEL) {
        say::note!("{warning}");
    }
}

/// What to say of a build at an optimisation level.
fn unoptimised(level: &str) -> Option<&'static str> {
    (level == "0").then_some(
        "note: this is an unoptimised build, some hundred times slower than `cargo run --release`; \
         the results are the same",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unoptimised_build_is_spoken_of() {
        assert!(unoptimised("0").is_some());
        assert!(["1", "2", "3", "s", "z"].into_iter().all(|level| unoptimised(level).is_none()));
        assert!(["0", "1", "2", "3", "s", "z"].contains(&backcut_engine::OPT_LEVEL));
    }

    #[derive(clap::Args)]
    struct Count {
        #[arg(long)]
        to: u64,
    }

    #[test]
    fn a_command_of_ones_own_stands_where_it_was_put() {
        let catalogue = Catalogue::new();
        let count =
            |args: &Count, _: Tools| Ok(if args.to == 3 { Verdict::Fine } else { Verdict::Failed });
        let app = App::new(&catalogue).with([
            Extra::new("count", "Count", count),
            Extra::new("up", "Up", count).under("study"),
        ]);
        let definition = app.definition();
        for (line, wanted) in [("x count --to 3", 0), ("x study up --to 3", 1)] {
            let matches = definition.clone().get_matches_from(line.split_whitespace());
            let asked = app.commands.iter().position(|extra| extra.asked(&matches).is_some());
            assert_eq!(asked, Some(wanted), "{line}");
            let own = app.commands[wanted].asked(&matches).unwrap();
            let ran = (app.commands[wanted].run)(own, Tools::new(&catalogue));
            assert_eq!(ran.unwrap().unwrap(), Verdict::Fine);
        }
        // What nobody put there is not there.
        for line in ["x up --to 3", "x report page r --paper", "x reproduce", "x vessel show s"] {
            let matches = definition.clone().try_get_matches_from(line.split_whitespace());
            assert!(matches.is_err(), "{line}");
        }
    }
}
