//! Which tiles cover an output matrix.
//!
//! Rows are taken `TALL` at a time (eight with AVX-512, four otherwise), the rest in bands of four,
//! two and one. A lower band takes more vectors of columns at once, so that the number of sums in
//! flight stays about the same. Columns that do not fill a vector are taken by narrower vectors and
//! at last one by one: no tile ever reads or writes beyond the matrix.

use crate::Real;
use crate::vectors::{Scalar, Vectors};

/// An output matrix that can be computed piece by piece.
pub(super) trait Pieces<R: Real> {
    /// Computes `M` rows by `N` vectors of columns. Must be `#[inline(always)]`.
    fn tile<T: Vectors<R>, const M: usize, const N: usize>(
        &mut self,
        vectors: T,
        row: usize,
        column: usize,
    );
}

/// Computes all of a `rows` x `columns` matrix.
#[inline(always)]
pub(super) fn cover<R: Real, T: Vectors<R>, const TALL: usize>(
    t: T,
    pieces: &mut impl Pieces<R>,
    rows: usize,
    columns: usize,
) {
    cover_from::<R, T, TALL>(t, pieces, 0, rows, columns);
}

/// As [`cover`], in lower and wider tiles where there are registers for them: if rows lie a
/// multiple of 4 KiB apart, those of a tall tile drive each other out of the nearest cache.
#[inline(always)]
pub(super) fn cover_low<R: Real, T: Vectors<R>, const TALL: usize>(
    t: T,
    pieces: &mut impl Pieces<R>,
    rows: usize,
    columns: usize,
) {
    let mut row = 0;
    while TALL > 4 && row + 4 <= rows {
        band::<R, T, 4, 4>(t, pieces, row, columns);
        row += 4;
    }
    cover_from::<R, T, 4>(t, pieces, row, rows, columns);
}

/// Computes the rows from `row` on.
#[inline(always)]
fn cover_from<R: Real, T: Vectors<R>, const TALL: usize>(
    t: T,
    pieces: &mut impl Pieces<R>,
    mut row: usize,
    rows: usize,
    columns: usize,
) {
    while row + TALL <= rows {
        band::<R, T, TALL, 2>(t, pieces, row, columns);
        row += TALL;
    }
    if TALL > 4 && row + 4 <= rows {
        band::<R, T, 4, 2>(t, pieces, row, columns);
        row += 4;
    }
    if row + 2 <= rows {
        band::<R, T, 2, 4>(t, pieces, row, columns);
        row += 2;
    }
    if row < rows {
        band::<R, T, 1, 8>(t, pieces, row, columns);
    }
}

/// Computes `M` rows, `N` vectors at a time as far as possible.
#[inline(always)]
fn band<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    pieces: &mut impl Pieces<R>,
    row: usize,
    columns: usize,
) {
    let mut column = tiles::<R, T, M, N>(t, pieces, row, 0, columns);
    if N > 4 {
        column = tiles::<R, T, M, 4>(t, pieces, row, column, columns);
    }
    column = tiles::<R, T, M, 1>(t, pieces, row, column, columns);
    column = tiles::<R, T::Narrow, M, 1>(t.narrow(), pieces, row, column, columns);
    tiles::<R, Scalar, M, 1>(Scalar, pieces, row, column, columns);
}

/// Computes as many tiles as fit from `column` on; returns the first column not computed.
#[inline(always)]
fn tiles<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    pieces: &mut impl Pieces<R>,
    row: usize,
    mut column: usize,
    columns: usize,
) -> usize {
    while column + N * T::LANES <= columns {
        pieces.tile::<T, M, N>(t, row, column);
        column += N * T::LANES;
    }
    column
}
