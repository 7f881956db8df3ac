//! A small vessel, and the rollouts that the systems' tests use.

use backcut_vessel::system::{Data, Fleet, Phase, Preset, Sizes, VesselConfig};

#[path = "../../../systems/tests/it/common/mod.rs"]
mod systems;

pub use systems::*;

/// A vessel of a few steps on a small fleet.
pub fn small_vessel(phase: Phase) -> VesselConfig {
    let sizes = Sizes { width: 8, heads: 2, observed: 3, predicted: 4, key_points: 3 };
    VesselConfig {
        preset: Preset::Sizes(sizes),
        phase,
        data: Data::Fleet(Fleet { ships: 6, days: 6, seed: 1 }),
        noise: 0.1,
        batch: 2,
        ..VesselConfig::default()
    }
}
