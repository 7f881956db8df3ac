//! The register tile: the one hot loop of a product.
//!
//! A tile holds `M` rows by `S` strips of output sums while the terms stream by; a strip is two
//! vectors of `L` lanes. Each term costs one broadcast per row and two loads per strip, against
//! `2 M S` multiply-adds. The shapes in use keep 8 to 16 independent vector sums in flight: enough to
//! hide the latency of a multiply-add, few enough to stay in registers.
//!
//! A tile is an array passed and returned by value, never a borrowed one, and is never indexed by
//! anything but a loop counter of constant bound. Break that and the compiler keeps it in memory,
//! forty times slower with the same bits; the throughput lines of the benchmark are there to notice.

use super::panels::PANEL;
use crate::Real;

/// Two vectors of `L` lanes: `2 L` neighbouring columns of one row. Never crosses a panel.
pub(super) type Strip<R, const L: usize> = [[R; L]; 2];

/// `M` rows by `S` strips of sums.
pub(super) type Tile<R, const M: usize, const S: usize, const L: usize> = [[Strip<R, L>; S]; M];

/// Adds `a * w` to a strip.
#[inline(always)]
pub(super) fn fma<R: Real, const L: usize>(
    a: R,
    w: &Strip<R, L>,
    mut acc: Strip<R, L>,
) -> Strip<R, L> {
    for v in 0..2 {
        for lane in 0..L {
            acc[v][lane] = a.mul_add(w[v][lane], acc[v][lane]);
        }
    }
    acc
}

/// Where the columns of a strip lie: a panel, and the index of the strip's first vector in it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, R> {
    pub panel: &'a [[R; PANEL]],
    pub vector: usize,
}

/// Adds `sum over j of x[row][j] * w[j]` to every sum of a tile, in the order of `j`.
#[inline(always)]
pub(super) fn accumulate<R: Real, const M: usize, const S: usize, const L: usize>(
    k: usize,
    x: [&[R]; M],
    w: [Source<R>; S],
    mut acc: Tile<R, M, S, L>,
) -> Tile<R, M, S, L> {
    let x = x.map(|row| &row[..k]);
    let panels = w.map(|source| &source.panel[..k]);
    for j in 0..k {
        for s in 0..S {
            let vectors = panels[s][j].as_chunks::<L>().0;
            let strip = [vectors[w[s].vector], vectors[w[s].vector + 1]];
            for row in 0..M {
                acc[row][s] = fma(x[row][j], &strip, acc[row][s]);
            }
        }
    }
    acc
}

/// The strip at the front of `values`; lanes beyond its end are zero.
#[inline(always)]
pub(super) fn load<R: Real, const L: usize>(values: &[R]) -> Strip<R, L> {
    if let [first, second, ..] = values.as_chunks::<L>().0 {
        return [*first, *second];
    }
    let mut strip = [[R::ZERO; L]; 2];
    for (lane, value) in strip.as_flattened_mut().iter_mut().zip(values) {
        *lane = *value;
    }
    strip
}

/// Writes a strip to the front of `values`, as far as they reach.
#[inline(always)]
pub(super) fn store<R: Real, const L: usize>(strip: Strip<R, L>, values: &mut [R]) {
    if let [first, second, ..] = values.as_chunks_mut::<L>().0 {
        [*first, *second] = strip;
        return;
    }
    for (value, lane) in values.iter_mut().zip(strip.as_flattened()) {
        *value = *lane;
    }
}
