//! What the oracle did to each edge between steps, counted as it was done.

use std::collections::BTreeMap;

use crate::credit::Draw;
use crate::cut::MemoryCredit;

/// Which path an edge belongs to, with the name of its state, cache or register.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// A physical state, handed from one step to the next.
    State(String),
    /// Key and value of an earlier step, read by an attention.
    Cache(String),
    /// Its key alone, where a cut treats the two apart.
    Keys(String),
    /// Its value alone.
    Values(String),
    /// A memory register, handed from one step to the next.
    Register(String),
}

impl EdgeKind {
    /// The name of its state, cache or register.
    pub fn name(&self) -> &str {
        match self {
            Self::State(name)
            | Self::Cache(name)
            | Self::Keys(name)
            | Self::Values(name)
            | Self::Register(name) => name,
        }
    }
}

/// What a cut leaves of an edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fate {
    /// All credit passes.
    Kept,
    /// The projections' weights receive credit, what was stored does not.
    WeightOnly,
    /// The projections' weights receive credit, what was stored a fraction of it.
    Scaled,
    /// No credit passes.
    Dropped,
}

/// Edges that are counted together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeKey {
    /// The path.
    pub kind: EdgeKind,
    /// Steps between the two ends, at least 1.
    pub distance: usize,
    /// What the cut leaves.
    pub fate: Fate,
}

/// How many edges of each kind, distance and fate one row of a rollout has.
pub type Edges = BTreeMap<EdgeKey, usize>;

/// What the memory half of a cut does to an edge from step `j` to step `t > j`, both counted from the
/// first step that learns.
pub(super) fn memory_fate(memory: MemoryCredit, draw: Draw, j: usize, t: usize) -> Fate {
    match memory {
        MemoryCredit::Full => Fate::Kept,
        MemoryCredit::Projected => Fate::Dropped,
        MemoryCredit::Scaled { .. } => Fate::Scaled,
        MemoryCredit::Stored { segment } => {
            let length = segment.map_or(1, |length| length.get() as usize);
            if j / length == t / length { Fate::Kept } else { Fate::WeightOnly }
        }
        MemoryCredit::Shifted { length } => {
            // Segments begin where the shifted clock strikes.
            let strikes =
                |step: usize| (step + draw.offset(length)).is_multiple_of(length.get() as usize);
            if (j + 1..=t).any(strikes) { Fate::WeightOnly } else { Fate::Kept }
        }
        MemoryCredit::Random { chance, unbiased } => {
            if (j + 1..=t).any(|step| draw.is_cut(step, chance)) {
                Fate::WeightOnly
            } else if unbiased {
                Fate::Scaled
            } else {
                Fate::Kept
            }
        }
    }
}

/// The factor of an edge that is scaled, over so many steps.
pub(super) fn factor(memory: MemoryCredit, distance: usize) -> f64 {
    match memory {
        MemoryCredit::Scaled { alpha } => alpha.get(),
        MemoryCredit::Random { chance, unbiased: true } => {
            (1.0 - chance.get()).powi(-(distance as i32))
        }
        _ => 1.0,
    }
}
