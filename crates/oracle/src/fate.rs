//! What the memory half of a cut leaves of an edge, for one pair of steps at a time.
//!
//! This is the definition, so it has the branches of the engine's rule; what it does not have is
//! the engine's tables. The policy written by hand (`policy`) says the same without a rule for
//! pairs: it walks over the boundaries and detaches, there and then, all that was stored before.

use backcut_engine::edges::Fate;
use backcut_engine::{Draw, MemoryCredit};

/// Of an edge from step `j` to step `t > j`, both counted from the first step that learns. A factor
/// of zero is left as it was asked for.
pub(crate) fn memory_fate(memory: MemoryCredit, draw: Draw, j: usize, t: usize) -> Fate {
    let unless = |cut: bool| if cut { Fate::WeightsOnly } else { Fate::Kept };
    match memory {
        MemoryCredit::Full => Fate::Kept,
        MemoryCredit::Projected => Fate::Dropped,
        MemoryCredit::Scaled { alpha } => Fate::Scaled(alpha.get()),
        MemoryCredit::Stored { segment } => {
            let length = segment.map_or(1, |length| length.get() as usize);
            unless(j / length != t / length)
        }
        MemoryCredit::Shifted { length } => {
            // Segments begin where the shifted clock strikes.
            let strikes =
                |step: usize| (step + draw.offset(length)).is_multiple_of(length.get() as usize);
            unless((j + 1..=t).any(strikes))
        }
        MemoryCredit::Random { chance, unbiased } => {
            let cut = (j + 1..=t).any(|step| draw.is_cut(step, chance));
            if unbiased && !cut {
                Fate::Scaled((1.0 - chance.get()).powi(-((t - j) as i32)))
            } else {
                unless(cut)
            }
        }
    }
}
