//! The packed layout of a weight matrix: panels of 32 columns, each `[k][32]`, zero-padded.
//!
//! One layout on every machine: 32 columns are two AVX-512 vectors or four AVX2 vectors of `f32`,
//! so each path reads a panel front to back, and a packed matrix means the same wherever it is
//! read.

use std::ops::Range;

use crate::Real;
use crate::isa::{Isa, dispatch};
use crate::vectors::{self, Square, Vectors, Work};

/// Panel width: the same on every machine.
pub const PANEL: usize = 32;

/// One term of a panel, aligned so that no vector load straddles two cache lines: with one row per
/// product, which does little but read the panel, straddling halves the speed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(super) struct Term<R>(pub [R; PANEL]);

/// Terms that a transposing pack takes at a time: few enough that the cache keeps what it has
/// touched of 32 columns, even if they lie a multiple of 4 KiB apart.
const GROUP: usize = 64;

/// A k x n matrix packed in zero-padded panels of [`PANEL`] columns: `[panel][k][PANEL]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Panels<R> {
    k: usize,
    n: usize,
    data: Vec<Term<R>>,
}

impl<R: Real> Panels<R> {
    /// A packed k x n matrix of zeros.
    pub fn zeros(k: usize, n: usize) -> Self {
        Self { k, n, data: vec![Term([R::ZERO; PANEL]); n.div_ceil(PANEL) * k] }
    }

    /// Rows of the packed matrix: the terms of one sum.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Columns of the packed matrix, padding not counted.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Bytes held on the heap, padding counted.
    pub fn bytes(&self) -> usize {
        self.data.capacity() * size_of::<Term<R>>()
    }

    /// Packs `w`, row-major k x n.
    pub fn pack(&mut self, isa: Isa, w: &[R]) {
        self.check(w);
        if self.k > 0 && self.n > 0 {
            copy_rows(isa, self.k, self.n, w, &mut self.data);
        }
    }

    /// Packs the transpose of `w`, which is row-major n x k.
    pub fn pack_transposed(&mut self, isa: Isa, w: &[R]) {
        self.check(w);
        if self.k > 0 && self.n > 0 {
            vectors::run(isa, Transpose { k: self.k, w, data: &mut self.data });
        }
    }

    /// The panel that holds column `column`.
    #[inline(always)]
    pub(super) fn panel(&self, column: usize) -> &[Term<R>] {
        &self.data[column / PANEL * self.k..][..self.k]
    }

    fn check(&self, w: &[R]) {
        let (k, n) = (self.k, self.n);
        assert!(
            w.len() == k * n,
            "packing a {k} x {n} matrix needs {} values, got {}",
            k * n,
            w.len()
        );
    }
}

dispatch! {
    pub fn copy_rows<R: Real>(k: usize, n: usize, w: &[R], data: &mut [Term<R>]) = copy_rows_body;
}

#[inline(always)]
fn copy_rows_body<R: Real>(k: usize, n: usize, w: &[R], data: &mut [Term<R>]) {
    for (p, panel) in data.chunks_exact_mut(k).enumerate() {
        let first = p * PANEL;
        for (row, target) in w.chunks_exact(n).zip(panel) {
            match row[first..].first_chunk::<PANEL>() {
                Some(full) => target.0 = *full,
                None => target.0[..n - first].copy_from_slice(&row[first..]),
            }
        }
    }
}

/// The transpose of `w`, row-major n x k, goes into `data`.
struct Transpose<'a, R> {
    k: usize,
    w: &'a [R],
    data: &'a mut [Term<R>],
}

impl<R: Real> Work<R> for Transpose<'_, R> {
    type Output = ();

    /// Squares go through registers, the largest that the machine can turn first; the rest one by
    /// one.
    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, t: T) {
        let (k, side) = (self.k, T::Narrow::LANES);
        let whole = |len: usize, side: usize| len - len % side;
        for (panel, columns) in self.data.chunks_exact_mut(k).zip(self.w.chunks(PANEL * k)) {
            let n = columns.len() / k;
            let large = if T::TURNS { (whole(n, 16), whole(k, 16)) } else { (0, 0) };
            let small = (whole(n, side), whole(k, side));
            for c in (0..large.0).step_by(16) {
                for j in (0..large.1).step_by(16) {
                    let mut square = [t.splat(R::ZERO); 16];
                    for i in 0..16 {
                        square[i] = t.load(&columns[(c + i) * k + j..]);
                    }
                    let square = t.transpose(square);
                    for i in 0..16 {
                        t.store(square[i], &mut panel[j + i].0[c..]);
                    }
                }
            }
            small_squares(t.narrow(), k, columns, panel, 0..large.0, large.1..small.1);
            small_squares(t.narrow(), k, columns, panel, large.0..small.0, 0..small.1);
            for c in 0..n {
                let done = if c < small.0 { small.1 } else { 0 };
                for j in done..k {
                    panel[j].0[c] = columns[c * k + j];
                }
            }
        }
    }
}

#[inline(always)]
fn small_squares<R: Real, N: Square<R>>(
    t: N,
    k: usize,
    columns: &[R],
    panel: &mut [Term<R>],
    cs: Range<usize>,
    js: Range<usize>,
) {
    let side = N::LANES;
    for group in js.clone().step_by(GROUP) {
        for c in cs.clone().step_by(side) {
            for j in (group..js.end.min(group + GROUP)).step_by(side) {
                let mut square = [t.splat(R::ZERO); 4];
                for i in 0..side {
                    square[i] = t.load(&columns[(c + i) * k + j..]);
                }
                let square = t.transpose_small(square);
                for i in 0..side {
                    t.store(square[i], &mut panel[j + i].0[c..]);
                }
            }
        }
    }
}
