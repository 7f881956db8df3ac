//! Options that choose a system's settings: `--set KEY=VALUE`, and the short forms that systems
//! offer.
//!
//! A command that flattens [`SettingArgs`] takes both. The short forms (`--noise 0.20` for
//! `--set velocity=0.20`) belong to the systems, so they are added when the catalogue is known
//! ([`offer_flags`]), and appear in `--help` like every other option.

use std::sync::Arc;

use anyhow::Result;
use backcut_systems::{Built, Catalogue, Flag, SystemChoice};
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use crate::exit::Told as _;

/// The id of `--set`; short forms have ids that begin with it.
const SET: &str = "set";

/// Settings as they were asked for.
#[derive(Clone, Debug, Default)]
pub struct SettingArgs {
    given: Vec<Given>,
}

#[derive(Clone, Debug)]
struct Given {
    /// What the user typed.
    typed: String,
    /// Path to the setting, as `policy.width`.
    key: String,
    value: Value,
}

impl SettingArgs {
    /// Nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Puts what was asked for over a system and builds the result.
    pub fn over(&self, base: &SystemChoice, catalogue: &Catalogue) -> Result<Arc<Built>> {
        if self.given.is_empty() {
            let choice = catalogue.build(base).told()?.choice.clone();
            return catalogue.build(&choice).told();
        }
        // The system without them may be costly to build, or not be there at all.
        let mut choice = catalogue.outline(base).told()?.choice;
        (choice.data, choice.program) = (None, None);
        for given in &self.given {
            put(&mut choice.settings, &given.key, given.value.clone());
        }
        let typed: Vec<&str> = self.given.iter().map(|g| g.typed.as_str()).collect();
        catalogue.build(&choice).told_at(typed.join(" "))
    }
}

/// Writes a value at a path, making tables on the way.
fn put(settings: &mut Value, path: &str, value: Value) {
    let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    if !settings.is_object() {
        *settings = Value::Object(Map::new());
    }
    let Some(map) = settings.as_object_mut() else { return };
    match rest {
        Some(rest) => put(map.entry(key).or_insert(Value::Null), rest, value),
        None => {
            map.insert(key.to_owned(), value);
        }
    }
}

/// A number, `true`, a list ... as JSON writes them; anything else is text.
pub fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

impl clap::Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        command.arg(
            Arg::new(SET)
                .long(SET)
                .value_name("KEY=VALUE")
                .help(
                    "A setting of the system, as velocity=0.2 or policy.width=32; may be repeated",
                )
                .action(ArgAction::Append),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for text in matches.get_many::<String>(SET).into_iter().flatten() {
            let Some((key, text)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                let what = format!("--set {text}: write KEY=VALUE, as velocity=0.2\n");
                return Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, what));
            };
            let typed = format!("--set {key}={text}");
            self.given.push(Given { typed, key: key.to_owned(), value: value(text) });
        }
        for id in matches.ids() {
            let Some(key) = id.as_str().strip_prefix("set.") else { continue };
            if let Some((typed, value)) = matches.get_one::<(String, Value)>(id.as_str()) {
                let (typed, value) = (typed.clone(), value.clone());
                self.given.push(Given { typed, key: key.to_owned(), value });
            }
        }
        Ok(())
    }
}

/// Adds the systems' short forms to every command that takes `--set`, but for those that it has
/// itself.
pub fn offer_flags(mut command: Command, flags: &[Flag]) -> Command {
    if command.get_arguments().any(|arg| arg.get_id() == SET) {
        let longs: Vec<String> =
            command.get_arguments().filter_map(|arg| Some(arg.get_long()?.to_owned())).collect();
        let offered = flags.iter().filter(|flag| !longs.iter().any(|long| long == flag.name));
        command = command.args(offered.map(|flag| argument(*flag)));
    }
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |sub| offer_flags(sub, flags));
    }
    command
}

fn argument(flag: Flag) -> Arg {
    let parse = move |text: &str| -> Result<(String, Value), String> {
        let typed = format!("--{} {text}", flag.name);
        Ok((typed, if flag.none == Some(text) { Value::Null } else { value(text) }))
    };
    Arg::new(format!("set.{}", flag.key))
        .long(flag.name)
        .value_name(flag.values)
        .help(flag.help)
        .allow_negative_numbers(true)
        .value_parser(parse)
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};
    use serde_json::json;

    use super::*;

    fn parse(line: &str) -> SettingArgs {
        let command = SettingArgs::augment_args(Command::new("x"));
        let command = offer_flags(command, &Catalogue::builtin().flags());
        let matches = command.get_matches_from(line.split_whitespace());
        SettingArgs::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn short_forms_and_paths_reach_their_settings() {
        let catalogue = Catalogue::builtin();
        let base = SystemChoice::new("quadrotor", Map::new());
        let args = parse("x --noise hidden --window 2 --set policy.layers=1 --set batch=4");
        let built = args.over(&base, &catalogue).unwrap();
        assert_eq!(built.choice.settings["velocity"], json!("hidden"));
        assert_eq!(built.choice.settings["window"], json!(2));
        assert_eq!(built.choice.settings["policy"]["layers"], json!(1));
        assert_eq!(built.system().batch_rows(), 4);
        let all = parse("x --window all").over(&built.choice, &catalogue).unwrap();
        assert_eq!(all.choice.settings["window"], Value::Null);
    }

    #[test]
    fn what_was_typed_stands_in_the_error() {
        let base = SystemChoice::new("quadrotor", Map::new());
        for (line, typed) in [
            ("--noise loud", "--noise loud: "),
            ("--noise=-0.1", "--noise -0.1: "),
            ("--window 0", "--window 0: "),
            ("--set velocty=0.2", "--set velocty=0.2: "),
        ] {
            let error = parse(&format!("x {line}")).over(&base, &Catalogue::builtin()).unwrap_err();
            assert!(error.to_string().starts_with(typed), "{error}");
        }
    }
}
