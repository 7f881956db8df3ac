//! Units: the smallest thing that is computed, stored and counted, named by what defines it.
//!
//! A unit's id is the SHA-256 of the canonical JSON of its [`Definition`]: the resolved configuration,
//! the source, the unit it starts from (by id), and the version of the numerics. So the same unit is
//! never computed twice, in whatever study it stands, and a changed definition is another unit.

use std::fmt;
use std::str::FromStr;

use backcut_measure::Measurement;
use backcut_training::RunConfig;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The name of a unit: 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId([u8; 32]);

impl UnitId {
    /// The id of a definition's canonical bytes.
    pub fn of(canonical: &[u8]) -> Self {
        Self(Sha256::digest(canonical).into())
    }

    /// Enough of it for people.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first byte, by which files are spread over folders.
    pub fn first(&self) -> u8 {
        self.0[0]
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnitId({self})")
    }
}

impl FromStr for UnitId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let bytes = text.as_bytes();
        if bytes.len() != 64 || bytes.iter().any(u8::is_ascii_uppercase) {
            return Err(());
        }
        let mut id = [0; 32];
        for (slot, pair) in id.iter_mut().zip(bytes.as_chunks::<2>().0) {
            let pair = std::str::from_utf8(pair).map_err(|_| ())?;
            *slot = u8::from_str_radix(pair, 16).map_err(|_| ())?;
        }
        Ok(Self(id))
    }
}

impl Serialize for UnitId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UnitId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| serde::de::Error::custom("not a unit's id"))
    }
}

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
        };
        pair.into_iter().flatten()
    }

    /// Updates to be trained.
    pub fn work(&self) -> u64 {
        match self {
            Self::Train(run) => run.updates - run.start.map_or(0, |from| from.update),
            Self::Measure(_) => 0,
        }
    }

    /// The canonical JSON.
    pub fn canonical(&self) -> String {
        let value = serde_json::to_value(self).expect("a definition holds nothing but plain data");
        backcut_training::config::canonical(&value)
    }

    /// The id.
    pub fn id(&self) -> UnitId {
        UnitId::of(self.canonical().as_bytes())
    }
}

/// In files a definition is one flat table with its `kind`, in which a run's `start` is called `from`.
impl Serialize for Definition {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, value) = match self {
            Self::Train(run) => ("train", serde_json::to_value(run)),
            Self::Measure(what) => ("measure", serde_json::to_value(what)),
        };
        let mut value = value.map_err(serde::ser::Error::custom)?;
        if let Some(map) = value.as_object_mut() {
            rename(map, "start", "from");
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
