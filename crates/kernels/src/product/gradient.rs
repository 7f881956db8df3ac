//! The gradients of a product's weight and bias, summed over steps and rows.

use super::cover::{Pieces, cover};
use super::tile::{self, Tile};
use super::vectors::{self, Vectors, Work};
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
    vectors::run(isa, Call { blocks, rows, n_in, n_out, x, dy, dw });
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

/// The arguments of one checked call.
struct Call<'a, R> {
    blocks: usize,
    rows: usize,
    n_in: usize,
    n_out: usize,
    x: &'a [R],
    dy: &'a [R],
    dw: &'a mut [R],
}

impl<R: Real> Work<R> for Call<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(mut self, t: T) {
        let (n_in, n_out) = (self.n_in, self.n_out);
        cover::<R, T, TALL>(t, &mut self, n_in, n_out);
    }
}

impl<R: Real> Pieces<R> for Call<'_, R> {
    #[inline(always)]
    fn tile<T: Vectors<R>, const M: usize, const N: usize>(
        &mut self,
        t: T,
        row: usize,
        column: usize,
    ) {
        // Copied out of `self`, which the stores below might otherwise be taken to change.
        let (n_out, dw) = (self.n_out, &mut *self.dw);
        let at = |m: usize, v: usize| (row + m) * n_out + column + v * T::LANES;

        let mut sums: Tile<T::Vector, M, N> = tile::fill(|m, v| t.load(&dw[at(m, v)..]));
        for b in (0..self.blocks).rev() {
            let x = &self.x[b * self.rows * self.n_in..][..self.rows * self.n_in];
            let dy = &self.dy[b * self.rows * n_out..][..self.rows * n_out];
            for (x, dy) in x.chunks_exact(self.n_in).zip(dy.chunks_exact(n_out)) {
                let x = &x[row..row + M];
                let dy = &dy[column..column + N * T::LANES];
                let dy = std::array::from_fn(|v| t.load(&dy[v * T::LANES..]));
                sums = tile::add_term(t, |m| x[m], dy, sums);
            }
        }
        for (m, row) in sums.into_iter().enumerate() {
            for (v, sum) in row.into_iter().enumerate() {
                t.store(sum, &mut dw[at(m, v)..]);
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
