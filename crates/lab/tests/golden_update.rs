//! One full update of the quadrotor, pinned.
//!
//! Changing a value here means that bits changed: bump `NUMERICS_VERSION` in `kernels` with it, so
//! that old and new results are never mixed. The configuration is spelled out; calibration does not
//! move it.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use backcut_engine::Cut;
use backcut_kernels::NUMERICS_VERSION;
use backcut_lab::training::{AdamW, Arm, Optimizer, Trainer};
use backcut_systems::Stream;
use backcut_systems::policy::{Initialisation, Policy};
use backcut_systems::quadrotor::{
    InitialSpread, InitialVelocity, QuadrotorConfig, VelocityReading,
};

#[test]
fn the_first_updates_of_one_source_have_these_bits() {
    let config = QuadrotorConfig {
        velocity: VelocityReading::Noise(0.2),
        window: None,
        spread: InitialSpread {
            position_m: 0.04,
            attitude_rad: 0.04,
            velocity_mps: 0.08,
            rates_radps: 0.04,
        },
        policy: Policy {
            steps: 32,
            width: 64,
            layers: 2,
            heads: 4,
            hidden: 192,
            initialisation: Initialisation::Pytorch,
            ..Policy::small()
        },
        batch: 8,
        initial_velocity: InitialVelocity::Rest,
    };
    let system = config.check().unwrap();
    let optimizer = Optimizer::adamw(AdamW::default(), 1000.0);
    let found = [Cut::FF, Cut::F_SG].map(|cut| {
        let arm = Arm { cut, seed: 42, stream: Stream::A, optimizer: optimizer.clone() };
        let mut trainer = Trainer::<f32>::new(&system, arm).unwrap();
        [(); 2].map(|()| trainer.step().unwrap().hash)
    });
    let golden = [
        [0x5f25_34ef_6a2f_528b, 0xe61c_ca30_8098_af7f],
        [0x55bb_f741_bbb4_27fb, 0x12c7_845a_daee_1178],
    ];
    assert_eq!(NUMERICS_VERSION, 1, "pin the values of the new version");
    assert_eq!(found, golden, "{found:#018x?}");
}
