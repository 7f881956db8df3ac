//! Units: the smallest thing that is computed, stored and counted, named by what defines it.
//!
//! A unit's id is the SHA-256 of the canonical JSON of its [`Definition`]: the resolved configuration,
//! the source, the unit it starts from (by id), and the version of the numerics. So the same unit is
//! never computed twice, in whatever study it stands, and a changed definition is another unit.

use std::fmt;
use std::str::FromStr;

use backcut_engine::Cut;
use backcut_measure::Measurement;
use backcut_systems::Stream;
use backcut_training::{Optimizer, Precision, SystemChoice};
use serde::{Deserialize, Serialize};
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Definition {
    /// A training run.
    Train {
        /// The system with its settings.
        system: SystemChoice,
        /// The backward graph.
        cut: Cut,
        /// The source.
        seed: u64,
        /// The sampling stream.
        stream: Stream,
        /// The state it starts from.
        from: Option<StateOf>,
        /// Updates at its end.
        updates: u64,
        /// Updates at which the panel is evaluated.
        evaluations: Vec<u64>,
        /// Clipping and AdamW.
        optimizer: Optimizer,
        /// Working precision.
        precision: Precision,
        /// Version of the kernels' bits.
        numerics: u32,
    },
    /// A measurement of a state.
    Measure {
        /// What is measured.
        measurement: Measurement,
        /// The state.
        of: StateOf,
        /// The state whose observations are common to all.
        reference: Option<StateOf>,
        /// Version of the kernels' bits.
        numerics: u32,
    },
}

impl Definition {
    /// The states it needs.
    pub fn needs(&self) -> impl Iterator<Item = StateOf> {
        let pair = match self {
            Self::Train { from, .. } => [*from, None],
            Self::Measure { of, reference, .. } => [Some(*of), *reference],
        };
        pair.into_iter().flatten()
    }

    /// Updates to be trained.
    pub fn work(&self) -> u64 {
        match self {
            Self::Train { updates, from, .. } => updates - from.map_or(0, |f| f.update),
            Self::Measure { .. } => 0,
        }
    }

    /// The canonical JSON.
    pub fn canonical(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        backcut_training::config::canonical(&value)
    }

    /// The id.
    pub fn id(&self) -> UnitId {
        UnitId::of(self.canonical().as_bytes())
    }
}
