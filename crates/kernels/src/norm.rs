//! Layer norm over the columns of each row, and its derivative.
//!
//! `y = (x - mean) * rstd * gain + bias` with `rstd = 1 / sqrt(var + eps)` and the biased variance.
//! With `h = dy * gain` and `z = (x - mean) * rstd`: `dx = rstd * (h - mean(h) - z * mean(h z))`.

use crate::Real;
use crate::isa::dispatch;
use crate::reduce;

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
    let rows = x.chunks_exact(n).zip(y.chunks_exact_mut(n));
    for ((x, y), saved) in rows.zip(saved.chunks_exact_mut(SAVED_PER_ROW)) {
        let mean = reduce::sum_body(x) * per_column;
        let var = reduce::accumulate(n, |i, sum: R| {
            let d = x[i] - mean;
            d.mul_add(d, sum)
        }) * per_column;
        let rstd = R::ONE / (var + eps).sqrt();
        saved[0] = mean;
        saved[1] = rstd;
        for i in 0..n {
            y[i] = ((x[i] - mean) * rstd).mul_add(gain[i], bias[i]);
        }
    }
}

#[inline(always)]
fn adjoint_body<R: Real>(
    n: usize,
    x: &[R],
    gain: &[R],
    saved: &[R],
    dy: &[R],
    dx: &mut [R],
    accumulate: bool,
) {
    let gain = &gain[..n];
    let per_column = R::ONE / R::from_f64(n as f64);
    let rows = x.chunks_exact(n).zip(dy.chunks_exact(n)).zip(dx.chunks_exact_mut(n));
    for (((x, dy), dx), saved) in rows.zip(saved.chunks_exact(SAVED_PER_ROW)) {
        let (mean, rstd) = (saved[0], saved[1]);
        let mean_h = reduce::accumulate(n, |i, sum: R| dy[i].mul_add(gain[i], sum)) * per_column;
        let mean_hz =
            reduce::accumulate(n, |i, sum: R| (dy[i] * gain[i]).mul_add((x[i] - mean) * rstd, sum))
                * per_column;
        for i in 0..n {
            let z = (x[i] - mean) * rstd;
            let d = rstd * ((dy[i] * gain[i] - mean_h) - z * mean_hz);
            dx[i] = if accumulate { dx[i] + d } else { d };
        }
    }
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
    let (dgain, dbias) = (&mut dgain[..n], &mut dbias[..n]);
    let rows = x.chunks_exact(n).zip(dy.chunks_exact(n));
    for ((x, dy), saved) in rows.zip(saved.chunks_exact(SAVED_PER_ROW)) {
        let (mean, rstd) = (saved[0], saved[1]);
        for i in 0..n {
            dgain[i] = dy[i].mul_add((x[i] - mean) * rstd, dgain[i]);
            dbias[i] += dy[i];
        }
    }
}

dispatch! {
    /// Normalises each row of `n` columns; `saved` receives [`SAVED_PER_ROW`] numbers per row.
    pub fn layer_norm<R: Real>(n: usize, eps: R, x: &[R], gain: &[R], bias: &[R], saved: &mut [R], y: &mut [R]) = forward_body;
}
dispatch! {
    /// The adjoint of the input; added to `dx` if `accumulate`, stored otherwise.
    pub fn layer_norm_adjoint<R: Real>(n: usize, x: &[R], gain: &[R], saved: &[R], dy: &[R], dx: &mut [R], accumulate: bool) = adjoint_body;
}
dispatch! {
    /// Adds the gradients of gain and bias, rows in ascending order.
    pub fn layer_norm_gradient<R: Real>(n: usize, x: &[R], saved: &[R], dy: &[R], dgain: &mut [R], dbias: &mut [R]) = gradient_body;
}
