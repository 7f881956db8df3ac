//! Settings: plain data from which a system is built, with everything a file or a page says of it.

use std::borrow::Cow;

use backcut_engine::TraceError;
use backcut_text::Hinted;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::optimizer::Optimizer;
use crate::system::System;

/// Both working precisions of one system: training takes single, oracles and exports double.
pub trait BothPrecisions: System<f32> + System<f64> {}

impl<T: System<f32> + System<f64>> BothPrecisions for T {}

/// What a number of a system is, in words, and its unit of measure (empty if it has none).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Quantity {
    /// In words, as `mean squared distance to the reference`.
    pub name: &'static str,
    /// As `m^2`.
    pub unit: &'static str,
}

/// Something that the policy must infer: where its true value stands, and which weights read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latent {
    /// In words, as `velocity`.
    pub name: &'static str,
    /// The tap that holds its true value.
    pub tap: &'static str,
    /// The parameter whose rows read it, and which rows.
    pub weights: (&'static str, [usize; 2]),
}

/// A command-line option of a system: `--name VALUE` is short for `--set key=VALUE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// The setting.
    pub key: &'static str,
    /// What values look like, as `SIGMA|hidden`.
    pub values: &'static str,
    /// The word for "no value", as `all` for a window.
    pub none: Option<&'static str>,
    /// One line of help.
    pub help: &'static str,
}

/// The forward window of a policy's memory, for systems that have one.
pub const WINDOW: Flag = Flag {
    name: "window",
    key: "window",
    values: "W|all",
    none: Some("all"),
    help: "Positions of memory that each layer reads, the current one included, or `all`",
};

/// What a system did before behaviours entered identities, for kinds that have results from then:
/// while it does the same, they keep their names, and afterwards what it does is part of them.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Settings, as JSON, that between them reach all of its code.
    pub settings: &'static [&'static str],
    /// The hash of the behaviours under them, one after the other.
    pub hash: &'static str,
}

/// Settings that describe no system: what is wrong, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct SettingsError {
    what: String,
    hint: String,
}

impl SettingsError {
    /// An error with its hint.
    pub fn new(what: impl std::fmt::Display, hint: impl std::fmt::Display) -> Self {
        Self { what: what.to_string(), hint: hint.to_string() }
    }

    /// Another error, told as one of settings.
    #[expect(clippy::needless_pass_by_value, reason = "it is named in map_err")]
    pub fn from_hinted<E: Hinted>(error: E) -> Self {
        Self::new(&error, error.hint())
    }
}

impl Hinted for SettingsError {
    fn hint(&self) -> Cow<'_, str> {
        self.hint.as_str().into()
    }
}

impl From<TraceError> for SettingsError {
    fn from(error: TraceError) -> Self {
        Self::from_hinted(error)
    }
}

/// The settings of a kind of system. Their JSON, every default filled in, is what identifies it.
///
/// **Phases.** A system that is trained in phases (pretraining, then training) has a setting that
/// says which one it is in; its loss, its optimizer and its budget follow from that setting, and an
/// arm of a study overrides it like any other. An arm that branches into another phase keeps the
/// parameters and starts its optimizer anew.
pub trait Settings: Serialize + DeserializeOwned + Default + Send + Sync + 'static {
    /// Its name on the command line and in files.
    const NAME: &'static str;

    /// Options that commands offer for it.
    const FLAGS: &'static [Flag] = &[];

    /// Values that settings leave out when they are written, since files of before there was a
    /// choice do not have them: the key (`policy.mixer`) and the value that is left out, as text or
    /// as JSON writes it.
    const UNWRITTEN: &'static [(&'static str, &'static str)] = &[];

    /// What it did when results named it by settings and data alone; without results from then,
    /// none.
    const RECORDED: Option<Recorded> = None;

    /// What it builds.
    type System: System<f32> + System<f64> + 'static;

    /// The system, if the settings are sound. May put settings into their canonical form.
    fn build(&mut self) -> Result<Self::System, SettingsError>;

    /// Its customary optimizer (in this phase).
    fn optimizer(&self) -> Optimizer {
        Optimizer::default()
    }

    /// Its customary number of updates (in this phase).
    fn updates(&self) -> u64 {
        1000
    }

    /// The phase that it is in.
    fn phase(&self) -> &'static str {
        "training"
    }

    /// What its evaluation error is.
    fn error(&self) -> Quantity {
        Quantity { name: "loss", unit: "" }
    }

    /// What its policy must infer, if that is one thing; the default of probes.
    fn latent(&self) -> Option<Latent> {
        None
    }

    /// What distinguishes it from the default, in words.
    fn words(&self) -> String {
        let (Ok(Value::Object(ours)), Ok(Value::Object(usual))) =
            (serde_json::to_value(self), serde_json::to_value(Self::default()))
        else {
            return String::new();
        };
        let changed = ours.iter().filter(|(key, value)| usual.get(*key) != Some(value));
        let words: Vec<String> = changed.map(|(key, value)| format!("{key} {value}")).collect();
        if words.is_empty() { "default settings".to_owned() } else { words.join(", ") }
    }
}
