//! The register tile: the one hot loop of a product.
//!
//! A tile holds `M` rows by `N` vectors of output sums while the terms stream by. Each term costs
//! `M` broadcasts and `N` loads, against `M N` multiply-adds. The shapes in use keep 8 to 16 sums
//! in flight: enough to hide the latency of a multiply-add, few enough to stay in registers.
//!
//! **Decision: plain loops over constant bounds.** `array::from_fn`, `array::map` and iterators
//! over arrays of vectors read better, but the standard library does not force them inline, and one
//! that is not inlined is compiled without the vector instructions (measured: a third of the speed
//! lost).

use crate::Real;
use crate::vectors::Vectors;

/// `M` rows by `N` vectors of sums.
pub(super) type Tile<V, const M: usize, const N: usize> = [[V; N]; M];

/// Where the vectors of a tile lie in a row-major matrix.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Index of the tile's first element.
    pub first: usize,
    /// Distance between rows.
    pub stride: usize,
}

/// The tile at `place`.
#[inline(always)]
pub(super) fn load<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    from: &[R],
    place: Place,
) -> Tile<T::Vector, M, N> {
    let mut tile = [[t.splat(R::ZERO); N]; M];
    for m in 0..M {
        for v in 0..N {
            tile[m][v] = t.load(&from[place.first + m * place.stride + v * T::LANES..]);
        }
    }
    tile
}

/// Writes a tile to `place`.
#[inline(always)]
pub(super) fn store<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    tile: Tile<T::Vector, M, N>,
    to: &mut [R],
    place: Place,
) {
    for m in 0..M {
        for v in 0..N {
            t.store(tile[m][v], &mut to[place.first + m * place.stride + v * T::LANES..]);
        }
    }
}

/// Asks for the tile at `place`, which need not be there.
#[inline(always)]
pub(super) fn prefetch<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    from: &[R],
    place: Place,
) {
    for m in 0..M {
        for v in 0..N {
            let at = place.first + m * place.stride + v * T::LANES;
            t.prefetch(from.as_ptr().wrapping_add(at));
        }
    }
}

/// Adds one term to every sum: `a[row] * w[vector]`.
#[inline(always)]
pub(super) fn add_term<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    a: [R; M],
    w: [T::Vector; N],
    mut sums: Tile<T::Vector, M, N>,
) -> Tile<T::Vector, M, N> {
    for m in 0..M {
        let a = t.splat(a[m]);
        for v in 0..N {
            sums[m][v] = t.mul_add(a, w[v], sums[m][v]);
        }
    }
    sums
}

/// `a + b`, sum by sum.
#[inline(always)]
pub(super) fn add<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    mut a: Tile<T::Vector, M, N>,
    b: Tile<T::Vector, M, N>,
) -> Tile<T::Vector, M, N> {
    for m in 0..M {
        for v in 0..N {
            a[m][v] = t.add(a[m][v], b[m][v]);
        }
    }
    a
}

/// `a * b`, sum by sum.
#[inline(always)]
pub(super) fn mul<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    mut a: Tile<T::Vector, M, N>,
    b: Tile<T::Vector, M, N>,
) -> Tile<T::Vector, M, N> {
    for m in 0..M {
        for v in 0..N {
            a[m][v] = t.mul(a[m][v], b[m][v]);
        }
    }
    a
}
