//! Layer norm over the columns of each row, and its derivative.
//!
//! `y = (x - mean) * rstd * gain + bias` with `rstd = 1 / sqrt(var + eps)` and the biased variance.
//! With `h = dy * gain` and `z = (x - mean) * rstd`: `dx = rstd * (h - mean(h) - z * mean(h z))`.

use crate::Real;
use crate::elementwise::Put;
use crate::isa::dispatch;
use crate::reduce::{self, LANES};

/// What the forward keeps per row for the derivative: mean and reciprocal standard deviation.
pub const SAVED_PER_ROW: usize = 2;

#[inline(always)]
fn forward_body<R: Real>(
    n: usize,
    eps: R,
    x: &[R],
    gain: &[R],
    bias: &[R],
    saved: &mut [R],
    y: &mut [R],
) {
    let (gain, bias) = (&gain[..n], &bias[..n]);
    let per_column = R::ONE / R::from_f64(n as f64);
    // One pass per quantity over all rows: the rows are independent, so their latencies overlap.
    for (x, saved) in x.chunks_exact(n).zip(saved.chunks_exact_mut(SAVED_PER_ROW)) {
        saved[0] = reduce::sum_body(x) * per_column;
    }
    for (x, saved) in x.chunks_exact(n).zip(saved.chunks_exact_mut(SAVED_PER_ROW)) {
        let mean = saved[0];
        let var = reduce::fold1(x, |x, sum: R| (x - mean).mul_add(x - mean, sum)) * per_column;
        saved[1] = R::ONE / (var + eps).sqrt();
    }
    let rows = x.chunks_exact(n).zip(y.chunks_exact_mut(n));
    for ((x, y), saved) in rows.zip(saved.chunks_exact(SAVED_PER_ROW)) {
        let (mean, rstd) = (saved[0], saved[1]);
        for (((y, &x), &gain), &bias) in y.iter_mut().zip(x).zip(gain).zip(bias) {
            *y = ((x - mean) * rstd).mul_add(gain, bias);
        }
    }
}

/// Rows whose derivative is worked on together.
const TOGETHER: usize = 8;

#[inline(always)]
fn adjoint_body<R: Real>(
    n: usize,
    x: &[R],
    gain: &[R],
    saved: &[R],
    dy: &[R],
    dx: &mut [R],
    put: Put,
) {
    let gain = &gain[..n];
    let per_column = R::ONE / R::from_f64(n as f64);
    let blocks = x.chunks(TOGETHER * n).zip(dy.chunks(TOGETHER * n));
    let blocks = blocks.zip(saved.chunks(TOGETHER * SAVED_PER_ROW));
    for (((x, dy), saved), dx) in blocks.zip(dx.chunks_mut(TOGETHER * n)) {
        let mut means = [[R::ZERO; 2]; TOGETHER];
        let rows = x.chunks_exact(n).zip(dy.chunks_exact(n));
        for (((x, dy), saved), means) in
            rows.clone().zip(saved.chunks_exact(SAVED_PER_ROW)).zip(&mut means)
        {
            let (mean, rstd) = (saved[0], saved[1]);
            let [h, hz] = sums(x, dy, gain, mean, rstd);
            *means = [h * per_column, hz * per_column];
        }
        let rows = rows.zip(saved.chunks_exact(SAVED_PER_ROW)).zip(&means);
        for ((((x, dy), saved), &[mean_h, mean_hz]), dx) in rows.zip(dx.chunks_exact_mut(n)) {
            let (mean, rstd) = (saved[0], saved[1]);
            for (((dx, &x), &dy), &gain) in dx.iter_mut().zip(x).zip(dy).zip(gain) {
                let z = (x - mean) * rstd;
                let d = rstd * ((dy * gain - mean_h) - z * mean_hz);
                *dx = if put == Put::Add { *dx + d } else { d };
            }
        }
    }
}

/// The sums of `h` and of `h z` over a row, each in the pattern of [`reduce`], in one pass.
#[inline(always)]
fn sums<R: Real>(x: &[R], dy: &[R], gain: &[R], mean: R, rstd: R) -> [R; 2] {
    let mut partial = [[R::ZERO; LANES]; 2];
    let add = |partial: &mut [[R; LANES]; 2], i: usize, x: R, dy: R, gain: R| {
        partial[0][i] = dy.mul_add(gain, partial[0][i]);
        partial[1][i] = (dy * gain).mul_add((x - mean) * rstd, partial[1][i]);
    };
    let (x_groups, x_rest) = x.as_chunks::<LANES>();
    let (dy_groups, dy_rest) = dy.as_chunks::<LANES>();
    let (gain_groups, gain_rest) = gain.as_chunks::<LANES>();
    for ((x, dy), gain) in x_groups.iter().zip(dy_groups).zip(gain_groups) {
        for i in 0..LANES {
            add(&mut partial, i, x[i], dy[i], gain[i]);
        }
    }
    for (i, ((&x, &dy), &gain)) in x_rest.iter().zip(dy_rest).zip(gain_rest).enumerate() {
        add(&mut partial, i, x, dy, gain);
    }
    partial.map(reduce::combine)
}

#[inline(always)]
fn gradient_body<R: Real>(
    n: usize,
    x: &[R],
    saved: &[R],
    dy: &[R],
    dgain: &mut [R],
    dbias: &mut [R],
) {
    let rows = x.len() / n;
    // Columns outside, rows inside: the sums stay in registers.
    let mut at = 0;
    while at + WIDE <= n {
        sum_rows::<R, WIDE>(n, rows, at, x, saved, dy, dgain, dbias);
        at += WIDE;
    }
    while at < n {
        sum_rows::<R, 1>(n, rows, at, x, saved, dy, dgain, dbias);
        at += 1;
    }
}

/// Columns whose gradients are summed together.
const WIDE: usize = 16;

/// Gradients of `N` columns from `at` on, rows in ascending order.
#[inline(always)]
fn sum_rows<R: Real, const N: usize>(
    n: usize,
    rows: usize,
    at: usize,
    x: &[R],
    saved: &[R],
    dy: &[R],
    dgain: &mut [R],
    dbias: &mut [R],
) {
    let (dgain, dbias) = (&mut dgain[at..at + N], &mut dbias[at..at + N]);
    let (mut gains, mut biases) = ([R::ZERO; N], [R::ZERO; N]);
    gains.copy_from_slice(dgain);
    biases.copy_from_slice(dbias);
    for row in 0..rows {
        let (mean, rstd) = (saved[row * SAVED_PER_ROW], saved[row * SAVED_PER_ROW + 1]);
        let (x, dy) = (&x[row * n + at..][..N], &dy[row * n + at..][..N]);
        for i in 0..N {
            gains[i] = dy[i].mul_add((x[i] - mean) * rstd, gains[i]);
            biases[i] += dy[i];
        }
    }
    dgain.copy_from_slice(&gains);
    dbias.copy_from_slice(&biases);
}

dispatch! {
    /// Normalises each row of `n` columns; `saved` receives [`SAVED_PER_ROW`] numbers per row.
    pub fn layer_norm<R: Real>(
        n: usize,
        eps: R,
        x: &[R],
        gain: &[R],
        bias: &[R],
        saved: &mut [R],
        y: &mut [R],
    ) = forward_body;
}
dispatch! {
    /// The adjoint of the input; left in `dx` as `put` says.
    pub fn layer_norm_adjoint<R: Real>(
        n: usize,
        x: &[R],
        gain: &[R],
        saved: &[R],
        dy: &[R],
        dx: &mut [R],
        put: Put,
    ) = adjoint_body;
}
dispatch! {
    /// Adds the gradients of gain and bias, rows in ascending order.
    pub fn layer_norm_gradient<R: Real>(
        n: usize,
        x: &[R],
        saved: &[R],
        dy: &[R],
        dgain: &mut [R],
        dbias: &mut [R],
    ) = gradient_body;
}
