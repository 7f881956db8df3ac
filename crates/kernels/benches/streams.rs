//! Cost of random normals and of the parameter hash, one thread.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use backcut_kernels::Isa;
use backcut_kernels::hash::hash_values_on;
use backcut_kernels::random::Stream;

const ROUNDS: usize = 9;
const CALLS: u32 = 200;

/// Seconds per call, the best of several rounds.
fn seconds(mut call: impl FnMut()) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                call();
            }
            start.elapsed().as_secs_f64() / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let stream = Stream::new(1, "bench");
    let mut normals = [0.0; 800];
    let one_row = seconds(|| stream.at(1, 1).fill_normal(black_box(&mut normals)));
    let rows = seconds(|| {
        for (row, out) in normals.chunks_exact_mut(100).enumerate() {
            stream.at(1, row as u64).fill_normal(black_box(out));
        }
    });
    println!("800 normals: {:.1} us in one row, {:.1} us in eight", one_row * 1e6, rows * 1e6);

    let single = vec![0.5f32; 93_000];
    let double = vec![0.5f64; 93_000];
    for isa in Isa::available() {
        let f32_time = seconds(|| {
            black_box(hash_values_on(isa, 0, black_box(&single)));
        });
        let f64_time = seconds(|| {
            black_box(hash_values_on(isa, 0, black_box(&double)));
        });
        println!(
            "hash of 93000 values, {isa}: f32 {:.1} us ({:.1} GB/s), f64 {:.1} us ({:.1} GB/s)",
            f32_time * 1e6,
            4.0 * 93e3 / f32_time * 1e-9,
            f64_time * 1e6,
            8.0 * 93e3 / f64_time * 1e-9,
        );
    }
}
