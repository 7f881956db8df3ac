//! The product `out = finish(start + x w)`.
//!
//! The start and the finish are part of a tile's life in registers: a bias, a residual or the
//! derivative of an activation costs no pass of its own.
#![expect(clippy::needless_range_loop, reason = "plain loops, for the reason given in `tile`")]

use super::cover::{Pieces, cover};
use super::panels::{PANEL, Panels};
use super::tile::{self, Place, Tile};
use crate::Real;
use crate::isa::Isa;
use crate::vectors::{self, Vectors, Work};

/// What an output element starts from.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a, R> {
    /// Zero.
    Zero,
    /// One value per column, length n.
    Bias(&'a [R]),
    /// What `out` holds.
    Accumulate,
}

/// What happens to the finished sum.
#[derive(Clone, Copy, Debug)]
pub enum Finish<'a, R> {
    /// `out = sum`.
    Store,
    /// `out = sum + r`, with `r` laid out like `out`.
    Add(&'a [R]),
    /// `out = sum * d`, with `d` laid out like `out`.
    Times(&'a [R]),
}

/// `out[r][c] = finish(start + sum over k of x[r][k] * w[k][c])`, the sum in the order of k.
///
/// `x`, `out` and the operand of `finish` are row-major; `x` has row stride `x_stride`, the other
/// two have row stride `out_stride`. Only the n columns of `w` are written.
///
/// # Panics
///
/// If a slice is too short for the shape, or a stride shorter than its row.
pub fn product<R: Real>(
    isa: Isa,
    rows: usize,
    x: &[R],
    x_stride: usize,
    w: &Panels<R>,
    start: Start<R>,
    finish: Finish<R>,
    out: &mut [R],
    out_stride: usize,
) {
    if rows == 0 || w.n() == 0 {
        return;
    }
    check(rows, x.len(), x_stride, w, start, finish, out.len(), out_stride);
    let call = Call { rows, x, x_stride, w, start, finish, out, out_stride };
    vectors::run(isa, call);
}

fn check<R: Real>(
    rows: usize,
    x_len: usize,
    x_stride: usize,
    w: &Panels<R>,
    start: Start<R>,
    finish: Finish<R>,
    out_len: usize,
    out_stride: usize,
) {
    let (k, n) = (w.k(), w.n());
    assert!(x_stride >= k, "product: x_stride {x_stride} is shorter than a row of k = {k}");
    assert!(out_stride >= n, "product: out_stride {out_stride} is shorter than a row of n = {n}");
    let x_needs = (rows - 1) * x_stride + k;
    assert!(x_len >= x_needs, "product: x has {x_len} values, {rows} rows need {x_needs}");
    let out_needs = (rows - 1) * out_stride + n;
    assert!(
        out_len >= out_needs,
        "product: out has {out_len} values, {rows} rows need {out_needs}"
    );
    if let Start::Bias(bias) = start {
        assert!(bias.len() >= n, "product: bias has {} values, n is {n}", bias.len());
    }
    if let Finish::Add(operand) | Finish::Times(operand) = finish {
        let len = operand.len();
        assert!(len >= out_needs, "product: finish has {len} values, {rows} rows need {out_needs}");
    }
}

/// The arguments of one checked call.
struct Call<'a, R> {
    rows: usize,
    x: &'a [R],
    x_stride: usize,
    w: &'a Panels<R>,
    start: Start<'a, R>,
    finish: Finish<'a, R>,
    out: &'a mut [R],
    out_stride: usize,
}

impl<R: Real> Work<R> for Call<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(mut self, t: T) {
        let (rows, n) = (self.rows, self.w.n());
        cover::<R, T, TALL>(t, &mut self, rows, n);
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
        let (w, k, out) = (self.w, self.w.k(), &mut *self.out);
        let place = Place { first: row * self.out_stride + column, stride: self.out_stride };

        let mut sums: Tile<T::Vector, M, N> = match self.start {
            Start::Zero => [[t.splat(R::ZERO); N]; M],
            Start::Bias(bias) => tile::load(t, bias, Place { first: column, stride: 0 }),
            Start::Accumulate => tile::load(t, out, place),
        };

        let mut x = [self.x; M];
        for m in 0..M {
            x[m] = &self.x[(row + m) * self.x_stride..][..k];
        }
        let mut panels = [w.panel(column); N];
        for v in 0..N {
            panels[v] = w.panel(column + v * T::LANES);
        }
        for j in 0..k {
            let mut a = [R::ZERO; M];
            for m in 0..M {
                a[m] = x[m][j];
            }
            let mut w = [t.splat(R::ZERO); N];
            for v in 0..N {
                w[v] = t.load(&panels[v][j].0[(column + v * T::LANES) % PANEL..]);
            }
            sums = tile::add_term(t, a, w, sums);
        }

        let sums: Tile<T::Vector, M, N> = match self.finish {
            Finish::Store => sums,
            Finish::Add(residual) => tile::add(t, sums, tile::load(t, residual, place)),
            Finish::Times(factor) => tile::mul(t, sums, tile::load(t, factor, place)),
        };
        tile::store(t, sums, out, place);
    }
}
