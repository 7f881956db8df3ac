//! The register tile: the one hot loop of a product.
//!
//! A tile holds `M` rows by `N` vectors of output sums while the terms stream by. Each term costs
//! `M` broadcasts and `N` loads, against `M N` multiply-adds. The shapes in use keep 8 to 16 sums in
//! flight: enough to hide the latency of a multiply-add, few enough to stay in registers.

use super::vectors::Vectors;
use crate::Real;

/// `M` rows by `N` vectors of sums.
pub(super) type Tile<V, const M: usize, const N: usize> = [[V; N]; M];

/// The tile whose vectors are `vector(row, index)`.
#[inline(always)]
pub(super) fn fill<V, const M: usize, const N: usize>(
    vector: impl Fn(usize, usize) -> V,
) -> Tile<V, M, N> {
    std::array::from_fn(|m| std::array::from_fn(|v| vector(m, v)))
}

/// Adds one term to every sum of a tile: `a[row] * w[vector]`.
#[inline(always)]
pub(super) fn add_term<R: Real, T: Vectors<R>, const M: usize, const N: usize>(
    t: T,
    a: impl Fn(usize) -> R,
    w: [T::Vector; N],
    mut sums: Tile<T::Vector, M, N>,
) -> Tile<T::Vector, M, N> {
    for (m, row) in sums.iter_mut().enumerate() {
        let a = t.splat(a(m));
        for (sum, w) in row.iter_mut().zip(w) {
            *sum = t.mul_add(a, w, *sum);
        }
    }
    sums
}
