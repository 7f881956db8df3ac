//! What an update draws for cuts that differ from update to update.

use std::num::NonZeroU32;

use crate::cut::Alpha;

/// The key of one update's draws. All cuts, memories and rows of an update see the same boundaries,
/// whatever the number of threads and wherever a run was resumed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Draw(u64);

impl Draw {
    /// Of a source (with its stream) at an update, counted from 0.
    pub fn new(seed: u64, update: u64) -> Self {
        Self(mixed(mixed(seed) ^ update))
    }

    /// How far segments of this length are shifted.
    pub fn offset(self, length: NonZeroU32) -> usize {
        (mixed(self.0) % u64::from(length.get())) as usize
    }

    /// Whether the boundary before a step (counted from the first that learns) is cut.
    pub fn is_cut(self, boundary: usize, chance: Alpha) -> bool {
        let unit = (mixed(self.0 ^ mixed(boundary as u64)) >> 11) as f64 / (1_u64 << 53) as f64;
        unit < chance.get()
    }
}

/// The finaliser of splitmix64 after one increment.
fn mixed(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
