//! Throughput of the transcendental functions over 2048 elements in cache, one thread.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use backcut_kernels::slices::{
    map_atanh_on, map_cos_on, map_exp_on, map_ln_on, map_sigmoid_on, map_sin_on, map_tan_on,
    map_tanh_on,
};
use backcut_kernels::{Isa, Real};

const LENGTH: usize = 2048;
const ROUNDS: usize = 9;
const CALLS: u32 = 200;

type Map<R> = fn(Isa, &[R], &mut [R]);

/// Nanoseconds per call, the best of several rounds.
fn nanoseconds<R: Real>(isa: Isa, map: Map<R>, x: &[R]) -> f64 {
    let mut y = vec![R::ZERO; x.len()];
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                map(isa, black_box(x), black_box(&mut y));
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn report<R: Real>() {
    let x: Vec<R> = (0..LENGTH)
        .map(|i| {
            R::from_f64((i as f64 + 0.5) / LENGTH as f64 * if i % 2 == 0 { 1.0 } else { -1.0 })
        })
        .collect();
    let maps: [(&str, Map<R>); 8] = [
        ("exp", map_exp_on),
        ("ln", map_ln_on),
        ("sin", map_sin_on),
        ("cos", map_cos_on),
        ("tan", map_tan_on),
        ("tanh", map_tanh_on),
        ("atanh", map_atanh_on),
        ("sigmoid", map_sigmoid_on),
    ];
    for isa in Isa::available() {
        for (name, map) in maps {
            let time = nanoseconds(isa, map, &x);
            println!("{:8} {} {isa:9} {time:9.0} ns per {LENGTH}", name, R::NAME);
        }
    }
}

fn main() {
    report::<f32>();
    report::<f64>();
}
