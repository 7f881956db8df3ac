//! The catalogue: systems by name, built once per process.
//!
//! Whoever needs a system (training, evaluation, export, measurement, studies) asks the catalogue,
//! and none of them names one. A user's own system joins with one line,
//! [`with::<MySettings>()`](Catalogue::with).
//!
//! **No setting is silently ignored.** Whatever was asked for must come back in the settings that
//! the built system is identified by. A key that is not there, or one that came back at its default
//! although another value was asked for, is an error: otherwise an arm of a study could train
//! something else than it says.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use backcut_files::Hash;
use backcut_text::Hinted as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::behaviour::Behaviour;
use crate::optimizer::Optimizer;
use crate::settings::{BothPrecisions, Flag, Latent, Quantity, Recorded, Settings, SettingsError};
use crate::system::System;

/// Which system, and its settings: how files and identities name it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemChoice {
    /// Its name on the command line.
    pub name: String,
    /// Its own settings.
    pub settings: Value,
    /// SHA-256 of the data it reads, if it reads any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// What it does, unless it is a kind that does what was recorded of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<Behaviour>>,
}

impl SystemChoice {
    /// A system by name, with settings that differ from its defaults.
    pub fn new(name: &str, settings: Map<String, Value>) -> Self {
        Self { name: name.to_owned(), settings: Value::Object(settings), data: None, program: None }
    }

    /// The same system with some settings changed. What it does then has to be looked at.
    #[must_use]
    pub fn changed(&self, changes: &Map<String, Value>) -> Self {
        let mut other = self.clone();
        if let Value::Object(settings) = &mut other.settings {
            change(settings, changes);
        }
        if other.settings != self.settings {
            other.program = None;
        }
        other
    }
}

/// Puts changes over settings, table by table: what a nested table does not name stays.
pub fn change(settings: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (key, value) in changes {
        match (settings.get_mut(key), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => change(ours, theirs),
            _ => drop(settings.insert(key.clone(), value.clone())),
        }
    }
}

/// A system ready to train, with everything that is known about it.
pub struct Built {
    /// Name, settings with every default filled in, and the hash of its data: what identifies it.
    pub choice: SystemChoice,
    /// Its customary optimizer.
    pub optimizer: Optimizer,
    /// Its customary number of updates.
    pub updates: u64,
    /// The phase of its training.
    pub phase: String,
    /// What its evaluation error is.
    pub error: Quantity,
    /// What its policy must infer, if that is one thing.
    pub latent: Option<Latent>,
    /// What distinguishes it from the default, in words.
    pub words: String,
    system: Box<dyn BothPrecisions>,
}

impl Built {
    /// `is_recorded` says that the kind does what was recorded of it.
    fn new<S: Settings>(choice: &SystemChoice, is_recorded: bool) -> Result<Self, SettingsError> {
        let mut settings: S = read(choice)?;
        let system = settings.build().map_err(|error| {
            SettingsError::new(format!("the {}'s settings: {error}", S::NAME), error.hint())
        })?;
        let resolved = as_json(&settings)?;
        is_taken_over::<S>("", &choice.settings, &resolved, &as_json(&S::default())?)?;
        let data = System::<f32>::data_hash(&system);
        if choice.data.is_some() && choice.data != data {
            let (asked, found) = (choice.data.as_deref(), data.as_deref());
            let what = format!(
                "{} reads other data than was asked for: {}, not {}",
                S::NAME,
                found.unwrap_or("none"),
                asked.unwrap_or("none")
            );
            return Err(SettingsError::new(what, "bring back the data it was trained on"));
        }
        let program = if is_recorded && choice.program.is_none() {
            None
        } else {
            let wrong =
                |e: SettingsError| SettingsError::new(format!("{}: {e}", S::NAME), e.hint());
            Some(Box::new(Behaviour::of(&system).map_err(wrong)?))
        };
        if let (Some(asked), Some(found)) = (&choice.program, &program)
            && asked != found
        {
            return Err(otherwise(S::NAME, &asked.differences(found)));
        }
        let name = S::NAME.to_owned();
        Ok(Self {
            choice: SystemChoice { name, settings: resolved, data, program },
            optimizer: settings.optimizer(),
            updates: settings.updates(),
            phase: settings.phase().to_owned(),
            error: settings.error(),
            latent: settings.latent(),
            words: settings.words(),
            system: Box::new(system),
        })
    }

    /// The system as training sees it.
    pub fn system(&self) -> &dyn System<f32> {
        &*self.system
    }

    /// The system in double precision, for oracles and exports.
    pub fn double(&self) -> &dyn System<f64> {
        &*self.system
    }
}

impl fmt::Debug for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Built").field("choice", &self.choice).finish_non_exhaustive()
    }
}

/// The error of a system that does not do what it did.
fn otherwise(system: &str, differences: &str) -> SettingsError {
    SettingsError::new(
        format!("{system} does something else now than it did then: {differences}"),
        "results of another program are not its own: bring its code back as it was, or begin anew",
    )
}

/// Whether a kind of system still does what was recorded of it; without a record, no.
fn is_recorded<S: Settings>() -> bool {
    let Some(recorded) = S::RECORDED else { return false };
    recorded.now::<S>().is_ok_and(|found| found.to_string() == recorded.hash)
}

impl Recorded {
    /// The hash of what a kind of system does today under the recorded settings.
    pub fn now<S: Settings>(&self) -> Result<Hash, SettingsError> {
        let mut all = Vec::new();
        for settings in self.settings {
            let settings = serde_json::from_str(settings)
                .map_err(|error| SettingsError::new(error, "correct the recorded settings"))?;
            let system = read::<S>(&SystemChoice::new(S::NAME, settings))?.build()?;
            all.push(Behaviour::of(&system)?);
        }
        Ok(Hash::of(format!("{all:?}").as_bytes()))
    }
}

/// What is known of a system before it is built.
#[derive(Clone, PartialEq, Debug)]
pub struct Outline {
    /// Name, settings with every default filled in (if not yet in their canonical form), and the
    /// hash that was asked for.
    pub choice: SystemChoice,
    /// The phase of its training.
    pub phase: String,
}

fn outline<S: Settings>(choice: &SystemChoice) -> Result<Outline, SettingsError> {
    let settings: S = read(choice)?;
    let (full, phase) = (as_json(&settings)?, settings.phase().to_owned());
    Ok(Outline { choice: SystemChoice { settings: full, ..choice.clone() }, phase })
}

fn read<S: Settings>(choice: &SystemChoice) -> Result<S, SettingsError> {
    serde_json::from_value(choice.settings.clone()).map_err(|error| {
        SettingsError::new(
            format!("the {}'s settings: {error}", S::NAME),
            "`backcut study template` and the system's guide list its settings",
        )
    })
}

fn as_json<S: Settings>(settings: &S) -> Result<Value, SettingsError> {
    serde_json::to_value(settings)
        .map_err(|error| SettingsError::new(format!("no JSON: {error}"), "use finite numbers"))
}

/// Every value that was given stands in what was resolved, or is one that settings leave out.
fn is_taken_over<S: Settings>(
    path: &str,
    given: &Value,
    resolved: &Value,
    usual: &Value,
) -> Result<(), SettingsError> {
    let system = S::NAME;
    if let (Value::Object(given), Value::Object(ours)) = (given, resolved) {
        for (key, value) in given {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let is_left_out = S::UNWRITTEN.contains(&(path.as_str(), written.as_str()));
            if is_left_out {
                continue;
            }
            let Some(ours) = ours.get(key) else {
                let known: Vec<&str> = ours.keys().map(String::as_str).collect();
                let what = format!("{system} did not take over the setting `{path}`");
                return Err(SettingsError::new(what, format!("it has {}", known.join(", "))));
            };
            is_taken_over::<S>(&path, value, ours, usual.get(key).unwrap_or(&Value::Null))?;
        }
        return Ok(());
    }
    if given == resolved || number(given).is_some_and(|n| number(resolved) == Some(n)) {
        return Ok(());
    }
    if resolved == usual {
        let what = format!("{system} did not take over `{path}`: {given} became {resolved}");
        return Err(SettingsError::new(what, "its settings must hold every value they are given"));
    }
    Ok(())
}

/// A number, however it was written.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

struct Entry {
    name: &'static str,
    flags: &'static [Flag],
    outline: fn(&SystemChoice) -> Result<Outline, SettingsError>,
    build: fn(&SystemChoice, bool) -> Result<Built, SettingsError>,
    look: fn() -> bool,
    /// What `look` found, asked once.
    is_recorded: OnceLock<bool>,
    has_record: bool,
}

/// Systems by name. The first one is the default of commands that need one.
#[derive(Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
    studies: &'static [(&'static str, &'static str)],
    built: Mutex<HashMap<String, Arc<Built>>>,
}

impl Catalogue {
    /// An empty catalogue.
    pub fn new() -> Self {
        Self::default()
    }

    /// The systems that come with the project.
    pub fn builtin() -> Self {
        Self::new()
            .with::<crate::quadrotor::QuadrotorConfig>()
            .with::<crate::cart_pole::CartPole>()
            .with::<crate::delayed_cue::DelayedCue>()
    }

    /// Adds a kind of system; one of the same name is replaced.
    pub fn with<S: Settings>(mut self) -> Self {
        self.entries.retain(|entry| entry.name != S::NAME);
        let (outline, build, look) = (outline::<S>, Built::new::<S>, is_recorded::<S>);
        let (is_recorded, has_record) = (OnceLock::new(), S::RECORDED.is_some());
        let (name, flags) = (S::NAME, S::FLAGS);
        self.entries.push(Entry { name, flags, outline, build, look, is_recorded, has_record });
        self
    }

    /// Adds study files that are built in, by name and text.
    #[must_use]
    pub fn with_studies(self, studies: &'static [(&'static str, &'static str)]) -> Self {
        Self { studies, ..self }
    }

    /// Study files that are built in.
    pub fn studies(&self) -> &'static [(&'static str, &'static str)] {
        self.studies
    }

    /// Its systems, in the order in which they joined.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|entry| entry.name)
    }

    /// Command-line options of all systems, each once.
    pub fn flags(&self) -> Vec<Flag> {
        let mut flags: Vec<Flag> = Vec::new();
        for flag in self.entries.iter().flat_map(|entry| entry.flags) {
            if flags.iter().all(|known| known.name != flag.name) {
                flags.push(*flag);
            }
        }
        flags
    }

    fn entry(&self, name: &str) -> Result<&Entry, SettingsError> {
        self.entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            let what = format!("the system `{name}` is not known");
            SettingsError::new(what, format!("systems: {}", known.join(", ")))
        })
    }

    /// What is known of the system of that choice without building it, which may take data and
    /// time.
    pub fn outline(&self, choice: &SystemChoice) -> Result<Outline, SettingsError> {
        (self.entry(&choice.name)?.outline)(choice)
    }

    /// The system of that choice. Built once: whoever asks again gets the same one.
    pub fn build(&self, choice: &SystemChoice) -> Result<Arc<Built>, SettingsError> {
        let entry = self.entry(&choice.name)?;
        // Keys of a map are sorted, so equal settings are equal text; at worst one is built twice.
        let key = format!("{} {}", choice.name, choice.settings);
        let known = || self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |built: &&Arc<Built>| {
            let SystemChoice { data, program, .. } = &built.choice;
            (choice.data.is_none() || *data == choice.data)
                && (choice.program.is_none() || *program == choice.program)
        };
        if let Some(built) = known().get(&key).filter(is_it) {
            return Ok(built.clone());
        }
        let is_recorded = *entry.is_recorded.get_or_init(entry.look);
        let built = Arc::new((entry.build)(choice, is_recorded)?);
        known().insert(key, built.clone());
        Ok(built)
    }

    /// The system that a state or a result is one of: it does what it did then, or it is refused.
    /// Of a kind without a record nobody can tell that of states that do not say it.
    pub fn restore(&self, choice: &SystemChoice) -> Result<Arc<Built>, SettingsError> {
        let built = self.build(choice)?;
        let is_told = choice.program.is_some() || self.entry(&choice.name)?.has_record;
        if is_told && built.choice.program != choice.program {
            return Err(otherwise(&choice.name, "its code is not the one that was recorded"));
        }
        Ok(built)
    }

    /// A system by name with all its defaults.
    pub fn default_of(&self, name: &str) -> Result<Arc<Built>, SettingsError> {
        self.build(&SystemChoice::new(name, Map::new()))
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
