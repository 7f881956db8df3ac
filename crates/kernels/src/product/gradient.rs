//! The gradients of a product's weight and bias, summed over steps and rows.

use crate::Real;
use crate::isa::{Isa, dispatch};

/// `dw[i][o] += sum of x[b][r][i] * dy[b][r][o]` over blocks b from last to first and rows r ascending.
///
/// `x` is `[blocks][rows][n_in]`, `dy` is `[blocks][rows][n_out]`, `dw` is row-major n_in x n_out. The
/// running sum in `dw` is where each chain of multiply-adds begins, so the bits do not depend on how
/// steps are grouped into calls.
///
/// # Panics
///
/// If a slice is too short for the shape.
pub fn weight_gradient<R: Real>(
    isa: Isa,
    blocks: usize,
    rows: usize,
    n_in: usize,
    n_out: usize,
    x: &[R],
    dy: &[R],
    dw: &mut [R],
) {
    check("weight_gradient: x", x.len(), blocks * rows * n_in);
    check("weight_gradient: dy", dy.len(), blocks * rows * n_out);
    check("weight_gradient: dw", dw.len(), n_in * n_out);
    weight_sum(isa, blocks, rows, n_in, n_out, x, dy, dw);
}

/// `db[o] += sum of dy[b][r][o]` over blocks b from last to first and rows r ascending.
///
/// # Panics
///
/// If a slice is too short for the shape.
pub fn bias_gradient<R: Real>(
    isa: Isa,
    blocks: usize,
    rows: usize,
    n_out: usize,
    dy: &[R],
    db: &mut [R],
) {
    check("bias_gradient: dy", dy.len(), blocks * rows * n_out);
    check("bias_gradient: db", db.len(), n_out);
    bias_sum(isa, blocks, rows, n_out, dy, db);
}

fn check(what: &str, len: usize, needs: usize) {
    assert!(len >= needs, "{what} has {len} values, the shape needs {needs}");
}

dispatch! {
    pub fn weight_sum<R: Real>(
        blocks: usize, rows: usize, n_in: usize, n_out: usize, x: &[R], dy: &[R], dw: &mut [R],
    ) = weight_sum_body;
}

#[inline(always)]
fn weight_sum_body<R: Real>(
    blocks: usize,
    rows: usize,
    n_in: usize,
    n_out: usize,
    x: &[R],
    dy: &[R],
    dw: &mut [R],
) {
    for b in (0..blocks).rev() {
        for r in 0..rows {
            let x = &x[(b * rows + r) * n_in..][..n_in];
            let dy = &dy[(b * rows + r) * n_out..][..n_out];
            for i in 0..n_in {
                for (dw, dy) in dw[i * n_out..][..n_out].iter_mut().zip(dy) {
                    *dw = x[i].mul_add(*dy, *dw);
                }
            }
        }
    }
}

dispatch! {
    pub fn bias_sum<R: Real>(
        blocks: usize, rows: usize, n_out: usize, dy: &[R], db: &mut [R],
    ) = bias_sum_body;
}

#[inline(always)]
fn bias_sum_body<R: Real>(blocks: usize, rows: usize, n_out: usize, dy: &[R], db: &mut [R]) {
    for b in (0..blocks).rev() {
        for r in 0..rows {
            let dy = &dy[(b * rows + r) * n_out..][..n_out];
            for (db, dy) in db[..n_out].iter_mut().zip(dy) {
                *db += *dy;
            }
        }
    }
}
