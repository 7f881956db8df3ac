//! How fast the products are, against the machine's practical peak.
//!
//! Wall-clock time decides nothing here but a printed number: no result of the project depends on
//! it.

#![expect(clippy::disallowed_methods, reason = "measuring speed is what this file is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::{Blocks, Finish, Panels, Start, product, weight_gradient};
use crate::Real;
use crate::isa::Isa;
use crate::vectors::{self, Vectors, Work};

/// GFLOP/s of a register-only FMA loop of this precision on this path: the machine's practical
/// peak.
pub fn measure_peak<R: Real>(isa: Isa, milliseconds: u64) -> f64 {
    measure(milliseconds, || vectors::run::<R, _>(isa, Chains { turns: 2000 }))
}

/// Operations between two looks at the clock: about 20 us at 100 GFLOP/s.
const BATCH: f64 = 2e6;

const PAGE: usize = 4096;

/// Independent chains of multiply-adds: enough to hide the latency of one.
const CHAINS: usize = 12;

/// `turns` multiply-adds on every chain; returns the floating-point operations done.
struct Chains {
    turns: usize,
}

impl<R: Real> Work<R> for Chains {
    type Output = f64;

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, t: T) -> f64 {
        let (a, b) = (t.splat(black_box(R::from_f64(0.001))), t.splat(black_box(R::ONE)));
        let mut sums = [t.splat(R::ZERO); CHAINS];
        for _ in 0..self.turns {
            for sum in &mut sums {
                *sum = t.mul_add(a, b, *sum);
            }
        }
        let mut out = [R::ZERO; CHAINS * 16];
        for (sum, out) in sums.iter().zip(out.chunks_exact_mut(16)) {
            t.store(*sum, out);
        }
        black_box(out);
        (self.turns * CHAINS * T::LANES * 2) as f64
    }
}

/// GFLOP/s of [`product`] in `f32` for one shape, with a bias and a plain store.
pub fn throughput(isa: Isa, rows: usize, k: usize, n: usize, milliseconds: u64) -> f64 {
    let mut w = Panels::zeros(k, n);
    w.pack(isa, &Buffer::new(k * n).get()[..k * n]);
    let (x, bias, mut out) = (Buffer::new(rows * k), Buffer::new(n), Buffer::new(rows * n));
    measure(milliseconds, || {
        let (x, start, out) =
            (black_box(x.get()), Start::Bias(bias.get()), black_box(out.get_mut()));
        product(isa, rows, x, k, &w, start, Finish::Store, out, n);
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
    let (x, dy) = (Buffer::new(steps * n_in), Buffer::new(steps * n_out));
    let mut dw = Buffer::new(n_in * n_out);
    measure(milliseconds, || {
        let (x, dy, dw) = (black_box(x.get()), dy.get(), black_box(dw.get_mut()));
        let dy = Blocks::dense(dy, rows * n_out);
        weight_gradient(isa, blocks, rows, n_in, n_out, x, dy, dw);
        (2 * steps * n_in * n_out) as f64
    })
}

/// Small values of both signs, none of them special, that begin on a page.
///
/// It matters when rows are a multiple of 4 KiB long. A processor takes a load for dependent on an
/// earlier store if their addresses agree modulo 4 KiB, so a weight gradient whose `dw` begins one
/// or two cache lines (modulo 4 KiB) after its `dy` runs at 80% of peak in place of 93; so does one
/// whose buffers do not begin on a cache line. Other shapes hardly notice.
struct Buffer {
    values: Vec<f32>,
    first: usize,
}

impl Buffer {
    fn new(len: usize) -> Self {
        let slack = PAGE / size_of::<f32>();
        let values: Vec<f32> =
            (0..len + slack).map(|i| (i * 37 % 101) as f32 / 101.0 - 0.5).collect();
        // `align_offset` may decline; the measurement is then of unaligned buffers.
        let first = values.as_ptr().align_offset(PAGE).min(slack);
        Self { values, first }
    }

    fn get(&self) -> &[f32] {
        &self.values[self.first..]
    }

    fn get_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.first..]
    }
}

/// Calls `work`, which returns the operations it did, for about `milliseconds` and in no fewer than
/// four batches, and returns the operations per nanosecond of the fastest batch. The fastest,
/// because on a shared machine the mean tells how busy the others were, and the first finds cold
/// caches.
fn measure(milliseconds: u64, mut work: impl FnMut() -> f64) -> f64 {
    let limit = Duration::from_millis(milliseconds);
    let begin = Instant::now();
    let mut best: f64 = 0.0;
    let mut batches = 0;
    while begin.elapsed() < limit || batches < 4 {
        let batch = Instant::now();
        let mut flops = 0.0;
        while flops < BATCH {
            flops += work();
        }
        batches += 1;
        best = best.max(flops / batch.elapsed().as_secs_f64() / 1e9);
    }
    best
}
