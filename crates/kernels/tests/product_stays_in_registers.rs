//! A tile that the compiler moves from registers to memory keeps its bits and loses nearly all of
//! its speed (measured: 2% of peak in place of 92). This notices the fall, not a few percent: the
//! benchmark is for those.

use backcut_kernels::Isa;
use backcut_kernels::product::{measure_peak, throughput, weight_gradient_throughput};

/// Part of peak. Overflow checks, which tests are compiled with, cost a part of the speed too.
const FLOOR: f64 = 0.06;

/// The best of many short tries, so that a busy machine does not matter.
fn best(work: impl Fn() -> f64) -> f64 {
    (0..20).map(|_| work()).fold(0.0, f64::max)
}

#[test]
fn products_reach_a_good_part_of_peak() {
    for isa in Isa::available() {
        if isa == Isa::portable() {
            continue;
        }
        let peak = best(|| measure_peak::<f32>(isa, 1));
        for rows in [1, 2, 4, 8] {
            let speed = best(|| throughput(isa, rows, 64, 128, 1));
            assert!(speed > FLOOR * peak, "{isa}, {rows} rows: {speed:.1} of {peak:.1} GFLOP/s");
        }
        for n_in in [1, 2, 4, 8] {
            let speed = best(|| weight_gradient_throughput(isa, 4, 8, n_in, 128, 1));
            assert!(speed > FLOOR * peak, "{isa}, {n_in} inputs: {speed:.1} of {peak:.1} GFLOP/s");
        }
    }
}
