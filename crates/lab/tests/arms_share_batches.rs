//! Arms of one source see the same batches and start from the same parameters; other seeds and
//! streams do not.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_engine::Cut;
use backcut_lab::training::{Arm, State, Trainer};
use backcut_systems::Stream;
use common::{PointMass, arm};

/// Inputs of the first three batches, and the first loss.
fn inputs(arm: Arm) -> (Vec<f32>, f64) {
    let system = PointMass::new();
    let mut trainer = Trainer::<f32>::new(&system, arm).unwrap();
    let mut seen = Vec::new();
    let mut first = None;
    for _ in 0..3 {
        let log = trainer.step().unwrap();
        first.get_or_insert(log.loss);
        let rollout = trainer.rollout();
        for name in ["target", "noise"] {
            seen.extend_from_slice(rollout.values(rollout.program().tap(name).unwrap()));
        }
    }
    (seen, first.unwrap())
}

#[test]
fn all_cuts_of_a_source_see_the_same_batches() {
    let (batches, loss) = inputs(arm(Cut::FF, 9));
    for cut in ["FD", "F_SG", "KF", "KD", "K_SG", "SEG-2"] {
        let (other, first) = inputs(arm(cut.parse().unwrap(), 9));
        assert_eq!(other, batches, "{cut}");
        assert_eq!(first.to_bits(), loss.to_bits(), "{cut}: one forward, any backward graph");
    }
}

#[test]
fn seeds_and_streams_differ_and_repeat() {
    let base = inputs(arm(Cut::FF, 9));
    assert_eq!(base, inputs(arm(Cut::FF, 9)));
    assert_ne!(base, inputs(arm(Cut::FF, 10)));
    let b = Arm { stream: Stream::B, ..arm(Cut::FF, 9) };
    assert_ne!(base.0, inputs(b.clone()).0);
    // Stream b is the same sampler at seeds + 10^9, and never the initialisation.
    assert_eq!(inputs(b.clone()).0, inputs(arm(Cut::FF, 1_000_000_009)).0);
    let system = PointMass::new();
    let fresh = Trainer::<f32>::new(&system, b).unwrap().state();
    assert_eq!(fresh, State::initial(&system, 9));
}
