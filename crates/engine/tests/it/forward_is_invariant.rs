//! Every graph has FF's forward, byte for byte: a backward leaves the record alone, whatever its
//! cut.

use crate::common::{Case, KINDS, bits, cut, spec};
use backcut_engine::{Rollout, Workspace};
use backcut_kernels::{Isa, Real};
use proptest::prelude::*;

/// Every value that a rollout keeps as rows, and every probability, as bits.
fn bytes<R: Real>(case: &Case, rollout: &Rollout<R>) -> Vec<u64> {
    let mut all = Vec::new();
    for site in 0..case.program.nodes().len() {
        all.extend(bits(rollout.values(site)));
    }
    for cache in case.program.cache_names() {
        for t in 0..rollout.steps() {
            all.extend(bits(rollout.probabilities(cache, t).unwrap().0));
        }
    }
    all.extend(rollout.row_loss().unwrap().iter().map(|loss| loss.to_bits()));
    all
}

fn check<R: Real>(case: &Case) {
    let (model, mut rollout) = case.rolled::<R>(Isa::detect());
    let before = bytes(case, &rollout);
    for name in KINDS {
        let mut workspace = Workspace::new(&rollout, &[cut(name)]).unwrap();
        workspace.backward(&model, &rollout).unwrap();
        assert_eq!(before, bytes(case, &rollout), "{name} changed the record");
        model.roll(&mut rollout).unwrap();
        assert_eq!(before, bytes(case, &rollout), "the forward after {name} differs");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn forward_bytes_do_not_depend_on_the_cut(
        seed in any::<u64>(),
        rows in 1..=9usize,
        steps in 1..=8usize,
    ) {
        let case = Case::random(seed, spec(rows, steps));
        check::<f32>(&case);
        check::<f64>(&case);
    }
}
