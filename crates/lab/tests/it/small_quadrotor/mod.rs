//! A quadrotor small enough for tests, with parameters at which its memory matters.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::LazyLock;

use backcut_engine::Cut;
use backcut_kernels::random;
use backcut_lab::measure::Subject;
use backcut_lab::training::{AdamW, Arm, Optimizer, State, Trainer};
use backcut_systems::policy::{Initialisation, Policy};
use backcut_systems::quadrotor::{Quadrotor, QuadrotorConfig};
use backcut_systems::{BatchKey, Stream};

pub const STEPS: usize = 6;

pub fn config(noise: &str) -> QuadrotorConfig {
    let policy = Policy {
        steps: STEPS,
        width: 8,
        layers: 2,
        heads: 2,
        hidden: 16,
        initialisation: Initialisation::Pytorch,
        ..Policy::small()
    };
    QuadrotorConfig { velocity: noise.parse().unwrap(), policy, ..QuadrotorConfig::default() }
}

/// What its states are trained with.
static OPTIMIZER: LazyLock<Optimizer> = LazyLock::new(optimizer);

pub fn optimizer() -> Optimizer {
    Optimizer::adamw(AdamW::default(), 100.0)
}

pub fn state(system: &Quadrotor, seed: u64) -> State<f32> {
    let arm = Arm { cut: Cut::FF, seed, stream: Stream::A, optimizer: optimizer() };
    let mut trainer = Trainer::new(system, arm).unwrap();
    for _ in 0..20 {
        trainer.step().unwrap();
    }
    let mut state = trainer.state();
    // Attention of an untrained policy is nearly even; sharper keys make history matter.
    let mut draws = random::Stream::new(seed, "sharpen").at(0, 0);
    for value in &mut state.params {
        *value *= 1.0 + 0.5 * draws.uniform() as f32;
    }
    state
}

pub fn subject<'a>(system: &'a Quadrotor, state: &'a State<f32>) -> Subject<'a> {
    let key = BatchKey { seed: 1, stream: Stream::A, update: state.update };
    Subject { system, state, optimizer: &OPTIMIZER, key }
}

pub fn value(findings: &[backcut_lab::measure::Finding], quantity: &str, part: &str) -> f64 {
    let found = findings.iter().find(|f| f.quantity == quantity && f.part == part);
    found.unwrap_or_else(|| panic!("no {quantity} {part}")).value.unwrap()
}
