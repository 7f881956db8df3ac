//! Units: the smallest thing that is computed, stored and counted, named by what defines it.
//!
//! A unit's id is the SHA-256 of the canonical JSON of its [`Definition`]: the resolved configuration,
//! the source, the unit it starts from (by id), and the version of the numerics. So the same unit is
//! never computed twice, in whatever study it stands, and a changed definition is another unit.

use backcut_engine::Cut;
use backcut_ledger::{Hash, canonical};
use backcut_measure::Measurement;
use backcut_systems::Stream;
use backcut_training::{Optimizer, Precision, SystemChoice};
use serde::{Deserialize, Serialize};

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
        canonical(self).expect("a definition has texts as keys, which is all that JSON asks")
    }

    /// The id.
    pub fn id(&self) -> UnitId {
        UnitId::of(self.canonical().as_bytes())
    }
}
