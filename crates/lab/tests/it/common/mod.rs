//! States to measure: a quadrotor after some updates, and a user's own system.

#![allow(dead_code, unused_imports)] // every test takes what it needs

use backcut_lab::measure::{Finding, Measurement, Subject};
use backcut_lab::training::{AdamW, Arm, Optimizer, State, Trainer};
use backcut_systems::quadrotor::{Quadrotor, QuadrotorConfig};
use backcut_systems::{BatchKey, System};

#[path = "../../common/point_mass.rs"]
pub mod point_mass;

pub use point_mass::*;

/// A quadrotor whose velocity reading is noisy.
pub fn quadrotor() -> Quadrotor {
    let velocity = "0.20".parse().expect("a noise level");
    QuadrotorConfig { velocity, ..QuadrotorConfig::default() }.check().expect("sound defaults")
}

/// An optimizer that clips the quadrotor's gradients or leaves them alone.
pub fn with_clip(clip: f64) -> Optimizer {
    Optimizer::adamw(AdamW::default(), clip)
}

/// The state after some updates of an arm.
pub fn trained(system: &dyn System<f32>, arm: &Arm, updates: u64) -> State<f32> {
    let mut trainer = Trainer::new(system, arm.clone()).expect("a sound arm");
    for _ in 0..updates {
        trainer.step().expect("early updates are harmless");
    }
    trainer.state()
}

pub fn subject<'a>(
    system: &'a dyn System<f32>,
    state: &'a State<f32>,
    arm: &'a Arm,
) -> Subject<'a> {
    let key = BatchKey { seed: arm.seed, stream: arm.stream, update: state.update };
    Subject { system, state, optimizer: &arm.optimizer, key }
}

/// The value of a finding that must be there.
pub fn value(findings: &[Finding], quantity: &str, cut: &str, part: &str) -> f64 {
    let is = |f: &&Finding| f.quantity == quantity && f.of == *cut && f.part == part;
    let found = findings.iter().find(is).unwrap_or_else(|| panic!("{quantity} {cut} {part}"));
    found.value.unwrap_or_else(|| panic!("{found:?}"))
}

/// A probe that names no tap.
pub fn usual_probe(common: bool) -> Measurement {
    Measurement::Probe { common, target: None, token: None, stored: None }
}
