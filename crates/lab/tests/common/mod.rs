//! What the tests of training share.

#![allow(dead_code, unused_imports)] // every test takes what it needs

use backcut_engine::Cut;
use backcut_kernels::NUMERICS_VERSION;
use backcut_lab::training::{
    Control, Precision, Progress, RunConfig, SystemChoice, ValidRun, config,
};
use backcut_systems::Stream;

pub mod point_mass;

pub use point_mass::*;

pub fn run_config(cut: Cut, seed: u64, updates: u64) -> RunConfig {
    RunConfig {
        system: SystemChoice {
            name: "point-mass".into(),
            settings: serde_json::json!({"gain": 2.0}),
            data: None,
            program: None,
        },
        cut,
        seed,
        stream: Stream::A,
        start: None,
        updates,
        evaluations: config::evaluation_points(0, updates, 20),
        optimizer: optimizer(),
        precision: Precision::F32,
        numerics: NUMERICS_VERSION,
    }
}

pub fn valid(cut: Cut, seed: u64, updates: u64) -> ValidRun {
    run_config(cut, seed, updates).check().expect("a sound configuration")
}

/// A caller who never interferes.
pub fn go_on(_: &Progress) -> Control {
    Control::Continue
}
