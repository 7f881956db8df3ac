//! How fast the products are, against the machine's practical peak.
//!
//! Wall-clock time decides nothing here but a printed number: no result of the project depends on it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::{Finish, Panels, Start, product, weight_gradient};
use crate::Real;
use crate::isa::{Isa, Path};

/// GFLOP/s of a register-only FMA loop of this precision on this path: the machine's practical peak.
pub fn measure_peak<R: Real>(isa: Isa, milliseconds: u64) -> f64 {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
    fn avx512<R: Real>(turns: usize) -> usize {
        if size_of::<R>() == 4 { chains::<R, 16>(turns) } else { chains::<R, 8>(turns) }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2<R: Real>(turns: usize) -> usize {
        if size_of::<R>() == 4 { chains::<R, 8>(turns) } else { chains::<R, 4>(turns) }
    }
    measure(milliseconds, || {
        let turns = 2000;
        let flops = match isa.path() {
            // SAFETY: an `Isa` of this path exists only after the processor reported exactly the
            // features that the wrapper enables (`Isa::checked`); the body is safe code.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Path::Avx512 => unsafe { avx512::<R>(turns) },
            // SAFETY: as above, for AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Path::Avx2 => unsafe { avx2::<R>(turns) },
            _ => chains::<R, 4>(turns),
        };
        flops as f64
    })
}

/// Independent chains of multiply-adds: enough of them to hide the latency of one.
const CHAINS: usize = 12;

/// Runs `turns` multiply-adds on every chain and returns the floating-point operations done.
#[inline(always)]
fn chains<R: Real, const L: usize>(turns: usize) -> usize {
    let a: [R; L] = black_box([R::from_f64(0.999); L]);
    let b: [R; L] = black_box([R::from_f64(0.001); L]);
    let mut acc = black_box([[R::ONE; L]; CHAINS]);
    for _ in 0..turns {
        for chain in 0..CHAINS {
            acc[chain] = step(&a, acc[chain], &b);
        }
    }
    black_box(acc);
    turns * CHAINS * L * 2
}

#[inline(always)]
fn step<R: Real, const L: usize>(a: &[R; L], mut chain: [R; L], b: &[R; L]) -> [R; L] {
    for lane in 0..L {
        chain[lane] = a[lane].mul_add(chain[lane], b[lane]);
    }
    chain
}

/// GFLOP/s of [`product`] in `f32` for one shape, with a bias and a plain store.
pub fn throughput(isa: Isa, rows: usize, k: usize, n: usize, milliseconds: u64) -> f64 {
    let mut w = Panels::zeros(k, n);
    w.pack(isa, &pattern(k * n));
    let (x, bias, mut out) = (pattern(rows * k), pattern(n), pattern(rows * n));
    measure(milliseconds, || {
        let (start, x) = (Start::Bias(&bias), black_box(&x));
        product(isa, rows, x, k, &w, start, Finish::Store, black_box(&mut out), n);
        (2 * rows * k * n) as f64
    })
}

/// GFLOP/s of [`weight_gradient`] in `f32` for one shape.
pub fn weight_gradient_throughput(
    isa: Isa,
    blocks: usize,
    rows: usize,
    n_in: usize,
    n_out: usize,
    milliseconds: u64,
) -> f64 {
    let steps = blocks * rows;
    let (x, dy, mut dw) = (pattern(steps * n_in), pattern(steps * n_out), pattern(n_in * n_out));
    measure(milliseconds, || {
        let (x, dw) = (black_box(&x), black_box(&mut dw));
        weight_gradient(isa, blocks, rows, n_in, n_out, x, &dy, dw);
        (2 * steps * n_in * n_out) as f64
    })
}

/// Small values of both signs, none of them special.
fn pattern(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i * 37 % 101) as f32 / 101.0 - 0.5).collect()
}

/// Calls `work`, which returns the operations it did, for about `milliseconds`: operations per ns.
fn measure(milliseconds: u64, mut work: impl FnMut() -> f64) -> f64 {
    let limit = Duration::from_millis(milliseconds);
    work();
    let begin = Instant::now();
    let mut flops = 0.0;
    loop {
        for _ in 0..8 {
            flops += work();
        }
        let elapsed = begin.elapsed();
        if elapsed >= limit {
            return flops / elapsed.as_secs_f64() / 1e9;
        }
    }
}
