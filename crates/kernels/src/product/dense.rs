//! The product `out = finish(start + x w)`.
//!
//! The start and the finish are part of a tile's life in registers: a bias, a residual or the
//! derivative of an activation costs no pass of its own.

use super::cover::{Pieces, cover};
use super::panels::{PANEL, Panels};
use super::tile::{self, Tile};
use super::vectors::{self, Vectors, Work};
use crate::Real;
use crate::isa::Isa;

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
/// `x`, `out` and the operand of `finish` are row-major; `x` has row stride `x_stride`, the other two
/// have row stride `out_stride`. Only the n columns of `w` are written.
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
        let (w, out_stride, out) = (self.w, self.out_stride, &mut *self.out);
        let at = |m: usize, v: usize| (row + m) * out_stride + column + v * T::LANES;

        let mut sums: Tile<T::Vector, M, N> = match self.start {
            Start::Zero => [[t.splat(R::ZERO); N]; M],
            Start::Bias(bias) => tile::fill(|_, v| t.load(&bias[column + v * T::LANES..])),
            Start::Accumulate => tile::fill(|m, v| t.load(&out[at(m, v)..])),
        };

        let x: [_; M] = std::array::from_fn(|m| &self.x[(row + m) * self.x_stride..][..w.k()]);
        let panel: [_; N] = std::array::from_fn(|v| w.panel(column + v * T::LANES));
        let lane: [_; N] = std::array::from_fn(|v| (column + v * T::LANES) % PANEL);
        for j in 0..w.k() {
            let w = std::array::from_fn(|v| t.load(&panel[v][j].0[lane[v]..]));
            sums = tile::add_term(t, |m| x[m][j], w, sums);
        }

        let sums: Tile<T::Vector, M, N> = match self.finish {
            Finish::Store => sums,
            Finish::Add(r) => tile::fill(|m, v| t.add(sums[m][v], t.load(&r[at(m, v)..]))),
            Finish::Times(d) => tile::fill(|m, v| t.mul(sums[m][v], t.load(&d[at(m, v)..]))),
        };
        for (m, row) in sums.into_iter().enumerate() {
            for (v, sum) in row.into_iter().enumerate() {
                t.store(sum, &mut out[at(m, v)..]);
            }
        }
    }
}
