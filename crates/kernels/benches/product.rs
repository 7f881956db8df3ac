//! Throughput of the products against the machine's practical peak, one thread.
//!
//! The peak loop runs beside every measurement and the median of the ratios is printed, so that a
//! busy or throttled machine moves both alike.

use backcut_kernels::Isa;
use backcut_kernels::product::{measure_peak, throughput, weight_gradient_throughput};

/// Short slices: a scheduler that takes the processor away spoils one round, not the median.
const MILLISECONDS: u64 = 2;
const ROUNDS: usize = 21;

/// (rows, k, n)
const PRODUCTS: &[(usize, usize, usize)] = &[
    (8, 64, 192),
    (8, 64, 64),
    (8, 105, 64),
    (8, 64, 256),
    (8, 64, 4),
    (8, 256, 64),
    (8, 192, 64),
    (4, 256, 768),
    (4, 256, 1024),
    (4, 1024, 256),
    (256, 64, 64),
    (64, 256, 64),
    (1152, 256, 1024),
    (1, 64, 64),
    (1, 64, 256),
    (4, 64, 64),
    (16, 64, 64),
    (32, 64, 64),
    (7, 64, 64),
];

/// (blocks, rows, n_in, n_out)
const GRADIENTS: &[(usize, usize, usize, usize)] = &[
    (4, 8, 64, 64),
    (16, 8, 64, 64),
    (4, 8, 64, 192),
    (16, 8, 64, 192),
    (4, 8, 105, 64),
    (16, 8, 105, 64),
    (4, 8, 64, 256),
    (16, 8, 64, 256),
    (4, 8, 256, 64),
    (16, 8, 256, 64),
    (4, 8, 64, 4),
    (16, 8, 64, 4),
    (8, 4, 256, 1024),
    (16, 4, 256, 1024),
    (32, 4, 256, 1024),
    (16, 4, 1024, 256),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    for isa in Isa::available() {
        if isa == Isa::portable() || !(wanted.is_empty() || wanted.contains(&isa.to_string())) {
            continue;
        }
        println!("{isa}: product          GFLOP/s  % of peak");
        for &(rows, k, n) in PRODUCTS {
            line(isa, &format!("{rows} x {k} x {n}"), || throughput(isa, rows, k, n, MILLISECONDS));
        }
        println!("{isa}: weight gradient  GFLOP/s  % of peak");
        for &(blocks, rows, n_in, n_out) in GRADIENTS {
            line(isa, &format!("{blocks} * {rows}, {n_in} x {n_out}"), || {
                weight_gradient_throughput(isa, blocks, rows, n_in, n_out, MILLISECONDS)
            });
        }
    }
}

fn line(isa: Isa, shape: &str, work: impl Fn() -> f64) {
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|_| {
            let before = measure_peak::<f32>(isa, MILLISECONDS);
            let speed = work();
            let after = measure_peak::<f32>(isa, MILLISECONDS);
            (speed / before.max(after), speed)
        })
        .collect();
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, speed) = rounds[ROUNDS / 2];
    println!("  {shape:<22} {speed:8.1} {:9.1}", 100.0 * ratio);
}
