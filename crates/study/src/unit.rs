//! Units: the smallest thing that is computed, stored and counted, named by what defines it.
//!
//! A unit's id is the SHA-256 of the canonical JSON of its [`Definition`]: the resolved
//! configuration, the source, the unit it starts from (by id), and the version of the numerics. So
//! the same unit is never computed twice, in whatever study it stands, and a changed definition is
//! another unit.

use backcut_files::{Hash, canonical};
use backcut_lab::measure::Measurement;
use backcut_lab::training::RunConfig;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::program::Commanded;

/// The name of a unit: the hash of its definition's canonical bytes.
pub type UnitId = Hash;

/// A state of another unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateOf {
    /// The unit.
    pub unit: UnitId,
    /// Updates done.
    pub update: u64,
}

/// What defines a unit.
#[derive(Clone, PartialEq, Debug)]
pub enum Definition {
    /// A training run; a branch names the unit it starts from.
    Train(RunConfig<StateOf>),
    /// A measurement of a state.
    Measure(Measuring),
    /// What a program computes.
    Command(Commanded),
}

/// A measurement of a state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measuring {
    /// What is measured.
    pub measurement: Measurement,
    /// The state.
    pub of: StateOf,
    /// The state whose observations are common to all.
    pub reference: Option<StateOf>,
    /// Version of the kernels' bits.
    pub numerics: u32,
}

impl Definition {
    /// The states it needs.
    pub fn needs(&self) -> impl Iterator<Item = StateOf> {
        let pair = match self {
            Self::Train(run) => [run.start, None],
            Self::Measure(what) => [Some(what.of), what.reference],
            Self::Command(_) => [None, None],
        };
        pair.into_iter().flatten()
    }

    /// Updates to be trained.
    pub fn work(&self) -> u64 {
        match self {
            Self::Train(run) => run.updates - run.start.map_or(0, |from| from.update),
            Self::Measure(_) => 0,
            Self::Command(what) => what.updates,
        }
    }

    /// The canonical JSON.
    pub fn canonical(&self) -> String {
        canonical(self).expect("a definition has texts as keys, which is all that JSON asks")
    }

    /// The id.
    pub fn id(&self) -> UnitId {
        UnitId::of(self.canonical().as_bytes())
    }
}

/// In files a definition is one flat table with its `kind`, in which a run's `start` is called
/// `from`.
impl Serialize for Definition {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, value) = match self {
            Self::Train(run) => ("train", serde_json::to_value(run)),
            Self::Measure(what) => ("measure", serde_json::to_value(what)),
            Self::Command(what) => ("command", serde_json::to_value(what)),
        };
        let mut value = value.map_err(serde::ser::Error::custom)?;
        if let Some(map) = value.as_object_mut() {
            if kind == "train" {
                rename(map, "start", "from");
            }
            map.insert("kind".to_owned(), kind.into());
        }
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Definition {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let mut map = Map::deserialize(deserializer)?;
        let kind = map.remove("kind").unwrap_or_default();
        let definition = match kind.as_str() {
            Some("train") if !map.contains_key("start") => {
                rename(&mut map, "from", "start");
                serde_json::from_value(map.into()).map(Self::Train)
            }
            Some("measure") => serde_json::from_value(map.into()).map(Self::Measure),
            Some("command") => serde_json::from_value(map.into()).map(Self::Command),
            _ => return Err(D::Error::custom(format!("{kind} is no kind of unit"))),
        };
        definition.map_err(D::Error::custom)
    }
}

fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
}
