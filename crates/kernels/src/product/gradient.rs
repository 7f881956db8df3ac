//! The gradients of a product's weight and bias, summed over steps and rows.

use super::cover::{Pieces, cover, cover_low};
use super::tile::{self, Place, Tile};
use crate::Real;
use crate::isa::Isa;
use crate::vectors::{self, Vectors, Work};

/// Blocks of rows, one per step, `stride` numbers from one to the next.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a, R> {
    /// The first block, and those after it.
    pub data: &'a [R],
    /// Numbers from the start of a block to the start of the next.
    pub stride: usize,
}

impl<'a, R> Blocks<'a, R> {
    /// Blocks of `len` numbers, one right after the other.
    pub fn dense(data: &'a [R], len: usize) -> Self {
        Self { data, stride: len }
    }

    /// The `len` numbers of block `b`.
    #[inline(always)]
    fn get(&self, b: usize, len: usize) -> &'a [R] {
        &self.data[b * self.stride..][..len]
    }

    fn check(&self, what: &str, blocks: usize, len: usize) {
        assert!(blocks < 2 || self.stride >= len, "{what}: the blocks overlap");
        check(what, self.data.len(), (blocks - 1) * self.stride + len);
    }
}

/// `dw[i][o] += sum of x[b][r][i] * dy[b][r][o]` over blocks b from last to first and rows r
/// ascending.
///
/// `x` is `[blocks][rows][n_in]`, a block of `dy` is `[rows][n_out]`, `dw` is row-major n_in x
/// n_out. The running sum in `dw` is where each chain of multiply-adds begins, so the bits do not
/// depend on how steps are grouped into calls.
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
    dy: Blocks<R>,
    dw: &mut [R],
) {
    if blocks * rows * n_in * n_out == 0 {
        return;
    }
    check("weight_gradient: x", x.len(), blocks * rows * n_in);
    dy.check("weight_gradient: dy", blocks, rows * n_out);
    check("weight_gradient: dw", dw.len(), n_in * n_out);
    if rows > TERMS || n_in < NARROW || n_out <= WIDE {
        vectors::run(isa, Call { blocks, rows, n_in, width: n_out, x, dy, dw, stride: n_out });
        return;
    }
    let mut panel = [R::ZERO; TERMS * WIDE];
    let at_once = TERMS / rows;
    for end in (1..=blocks).rev().step_by(at_once) {
        let first = end.saturating_sub(at_once);
        let (blocks, x) = (end - first, &x[first * rows * n_in..]);
        for column in (0..n_out).step_by(WIDE) {
            let width = WIDE.min(n_out - column);
            for b in 0..blocks {
                let block = dy.get(first + b, rows * n_out).chunks_exact(n_out);
                let to = panel[b * rows * width..].chunks_exact_mut(width);
                for (row, to) in block.zip(to) {
                    to.copy_from_slice(&row[column..][..width]);
                }
            }
            let (dy, dw) = (Blocks::dense(&panel, rows * width), &mut dw[column..]);
            vectors::run(isa, Call { blocks, rows, n_in, width, x, dy, dw, stride: n_out });
        }
    }
}

/// Rows of output adjoints of which a panel of columns is copied side by side: as they lie, those
/// of a wide matrix fall into a few sets of the nearest cache and drive each other out.
const TERMS: usize = 64;

/// Columns of a panel.
const WIDE: usize = 64;

/// With fewer inputs such a copy does not pay.
const NARROW: usize = 256;

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
    dy: Blocks<R>,
    db: &mut [R],
) {
    if blocks * rows * n_out == 0 {
        return;
    }
    dy.check("bias_gradient: dy", blocks, rows * n_out);
    check("bias_gradient: db", db.len(), n_out);
    vectors::run(isa, BiasCall { blocks, rows, n_out, dy, db });
}

fn check(what: &str, len: usize, needs: usize) {
    assert!(len >= needs, "{what} has {len} values, the shape needs {needs}");
}

/// The arguments of one checked call.
struct Call<'a, R> {
    blocks: usize,
    rows: usize,
    n_in: usize,
    /// Columns, and how far the rows of `dw` lie apart.
    width: usize,
    stride: usize,
    x: &'a [R],
    dy: Blocks<'a, R>,
    dw: &'a mut [R],
}

impl<R: Real> Work<R> for Call<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(mut self, t: T) {
        let (n_in, width) = (self.n_in, self.width);
        if width < self.stride {
            cover_low::<R, T, TALL>(t, &mut self, n_in, width);
        } else {
            cover::<R, T, TALL>(t, &mut self, n_in, width);
        }
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
        let (rows, n_in, n_out, dw) = (self.rows, self.n_in, self.width, &mut *self.dw);
        let place = Place { first: row * self.stride + column, stride: self.stride };
        let below = Place { first: place.first + M * place.stride, ..place };
        tile::prefetch::<R, T, M, N>(t, dw, below);

        // Said once, or every term would be checked anew.
        let width = N * T::LANES;
        assert!(row <= n_in && M <= n_in - row && column <= n_out && width <= n_out - column);
        let mut sums: Tile<T::Vector, M, N> = tile::load(t, dw, place);
        for b in (0..self.blocks).rev() {
            let x = &self.x[b * rows * n_in..][..rows * n_in];
            let dy = self.dy.get(b, rows * n_out);
            for (x, dy) in x.chunks_exact(n_in).zip(dy.chunks_exact(n_out)) {
                let mut a = [R::ZERO; M];
                a.copy_from_slice(&x[row..][..M]);
                let (dy, mut w) = (&dy[column..][..width], [t.splat(R::ZERO); N]);
                for v in 0..N {
                    w[v] = t.load(&dy[v * T::LANES..]);
                }
                sums = tile::add_term(t, a, w, sums);
            }
        }
        tile::store(t, sums, dw, place);
    }
}

/// The arguments of one checked call for the bias: a matrix of one row.
struct BiasCall<'a, R> {
    blocks: usize,
    rows: usize,
    n_out: usize,
    dy: Blocks<'a, R>,
    db: &'a mut [R],
}

impl<R: Real> Work<R> for BiasCall<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(mut self, t: T) {
        let n_out = self.n_out;
        cover::<R, T, TALL>(t, &mut self, 1, n_out);
    }
}

impl<R: Real> Pieces<R> for BiasCall<'_, R> {
    #[inline(always)]
    fn tile<T: Vectors<R>, const M: usize, const N: usize>(
        &mut self,
        t: T,
        _row: usize,
        column: usize,
    ) {
        let place = |row: usize| Place { first: row * self.n_out + column, stride: 0 };
        let mut sums: Tile<T::Vector, M, N> = tile::load(t, self.db, place(0));
        for b in (0..self.blocks).rev() {
            let block = self.dy.get(b, self.rows * self.n_out);
            for r in 0..self.rows {
                let dy = tile::load(t, block, place(r));
                sums = tile::add(t, sums, dy);
            }
        }
        tile::store(t, sums, self.db, place(0));
    }
}
