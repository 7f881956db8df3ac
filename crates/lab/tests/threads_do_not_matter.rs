//! The same runs in 1, 2 and 7 concurrent threads give the same bits.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::sync::Mutex;

use backcut_engine::Cut;
use backcut_lab::training::Trainer;
use common::{PointMass, arm};

/// Hashes of the parameters after every update of 14 runs, spread over `threads` threads.
fn hashes(threads: usize) -> Vec<Vec<u64>> {
    let system = PointMass::new();
    let units: Vec<(Cut, u64)> =
        (0..7).flat_map(|seed| [(Cut::FF, seed), (Cut::F_SG, seed)]).collect();
    let results = Mutex::new(vec![Vec::new(); units.len()]);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (system, units, results) = (&system, &units, &results);
            scope.spawn(move || {
                for (index, &(cut, seed)) in units.iter().enumerate().skip(thread).step_by(threads)
                {
                    let mut trainer = Trainer::<f32>::new(system, arm(cut, seed)).unwrap();
                    let run = (0..30).map(|_| trainer.step().unwrap().hash).collect();
                    results.lock().unwrap()[index] = run;
                }
            });
        }
    });
    results.into_inner().unwrap()
}

#[test]
fn one_two_and_seven_threads_agree() {
    let one = hashes(1);
    assert_eq!(one, hashes(2));
    assert_eq!(one, hashes(7));
    let mut ends: Vec<u64> = one.iter().map(|run| run[29]).collect();
    ends.sort_unstable();
    ends.dedup();
    assert_eq!(ends.len(), 14, "other seeds and other cuts end elsewhere");
}
