//! Many sums over the same vectors in one pass: of every piece on its own, and of the whole as one
//! sum.
//!
//! Each sum keeps the pattern of [`super`], for a piece counted from its own start and for the
//! whole from the vectors' start: the bits are those of one pass per sum. What is shared is the way
//! to memory. A tile of every vector is widened to `f64` once and stays in the first cache while
//! all terms are summed over it; a piece that starts between multiples of sixteen finds the whole's
//! partial sums rotated to its phase. **Decision: one term per loop, two sums per term.** Piece and
//! whole share their factors, and their chains of additions hide each other's latency; fusing terms
//! gains nothing over that.

use std::ops::Range;

use super::{LANES, combine};
use crate::isa::dispatch;
use crate::vectors::{Vectors, Work, run};
use crate::{Isa, Real};

/// Chunks of sixteen that are widened at a time: of six vectors, 24 KiB.
const TILE: usize = 32;

type Chunk = [f64; LANES];

/// Writes a range of a vector, named by its place, in `f64`.
pub type Fill<'a> = dyn FnMut(usize, Range<usize>, &mut [f64]) + 'a;

/// What to sum, over vectors by their places in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// `|a|^2`: the bits of [`super::norm_squared`].
    Square(usize),
    /// `a . b`: the bits of [`super::dot_wide`].
    Dot(usize, usize),
    /// `|a - b|^2`: the bits of [`super::distance_squared`].
    Distance(usize, usize),
    /// `|(a - b) - (c - d)|^2`: the bits of [`super::double_difference_squared`].
    Cross([usize; 4]),
}

/// What [`survey`] found.
#[derive(Clone, PartialEq, Debug)]
pub struct Survey {
    /// For every piece, the terms' sums over it.
    pub pieces: Vec<Vec<f64>>,
    /// The terms' sums over everything.
    pub whole: Vec<f64>,
}

/// Sums `terms` over `count` vectors, which `pieces` cover one after the other. A vector need not
/// exist but where it is looked at: `fill` is asked for every range once.
///
/// # Panics
/// If the pieces leave a gap, or a term names a vector that is not there.
pub fn survey<'a>(
    count: usize,
    terms: &'a [Term],
    pieces: &'a [Range<usize>],
    fill: &'a mut Fill<'a>,
) -> Survey {
    survey_on(Isa::detect(), count, terms, pieces, fill)
}

/// [`survey`] on a chosen code path: the same bits.
///
/// # Panics
/// As [`survey`].
pub fn survey_on<'a>(
    isa: Isa,
    count: usize,
    terms: &'a [Term],
    pieces: &'a [Range<usize>],
    fill: &'a mut Fill<'a>,
) -> Survey {
    let mut end = 0;
    for piece in pieces {
        assert_eq!(piece.start, end, "pieces follow each other");
        end = piece.end;
    }
    let tiles = vec![[[0.0; LANES]; TILE]; count];
    run::<f64, _>(isa, Pass { terms, pieces, fill, tiles })
}

struct Pass<'a> {
    terms: &'a [Term],
    pieces: &'a [Range<usize>],
    fill: &'a mut Fill<'a>,
    tiles: Vec<[Chunk; TILE]>,
}

impl Work<f64> for Pass<'_> {
    type Output = Survey;

    #[inline(always)]
    fn run<T: Vectors<f64>, const TALL: usize>(mut self, v: T) -> Survey {
        let mut found = Vec::with_capacity(self.pieces.len());
        let mut wholes = vec![[0.0; LANES]; self.terms.len()];
        let mut parts = wholes.clone();
        for piece in self.pieces {
            let phase = piece.start % LANES;
            for (part, whole) in parts.iter_mut().zip(&mut wholes) {
                *part = [0.0; LANES];
                whole.rotate_left(phase);
            }
            for start in piece.clone().step_by(TILE * LANES) {
                let n = (piece.end - start).min(TILE * LANES);
                for (vector, tile) in self.tiles.iter_mut().enumerate() {
                    let (tile, rest) = tile.as_flattened_mut().split_at_mut(n);
                    (self.fill)(vector, start..start + n, tile);
                    // Zeros in what is left of the last sixteen leave a sum as it is.
                    rest[..n.next_multiple_of(LANES) - n].fill(0.0);
                }
                let chunks = n.div_ceil(LANES);
                let x = |i: usize| &self.tiles[i][..chunks];
                for ((term, part), whole) in self.terms.iter().zip(&mut parts).zip(&mut wholes) {
                    match *term {
                        Term::Square(a) => go_on::<T, 1>(v, [x(a)], part, whole),
                        Term::Dot(a, b) => go_on::<T, 2>(v, [x(a), x(b)], part, whole),
                        Term::Distance(a, b) => go_on::<T, 3>(v, [x(a), x(b), x(b)], part, whole),
                        Term::Cross(four) => go_on::<T, 4>(v, four.map(x), part, whole),
                    }
                }
            }
            for whole in &mut wholes {
                whole.rotate_right(phase);
            }
            found.push(parts.iter().copied().map(combine).collect());
        }
        Survey { pieces: found, whole: wholes.into_iter().map(combine).collect() }
    }
}

#[inline(always)]
fn widen_body<R: Real>(x: &[R], wide: &mut [f64]) {
    for (wide, x) in wide.iter_mut().zip(x) {
        *wide = x.to_f64();
    }
}

dispatch! {
    /// Writes `x` in `f64`.
    pub fn widen, widen_on<R: Real>(x: &[R], wide: &mut [f64]) = widen_body;
}

/// Adds the products of a tile to the partial sums of piece and whole, two registers at a time.
/// `N` says which product: 1 a square, 2 a product, 3 a squared difference, 4 a squared double
/// difference.
#[inline(always)]
fn go_on<T: Vectors<f64>, const N: usize>(
    v: T,
    x: [&[Chunk]; N],
    part: &mut Chunk,
    whole: &mut Chunk,
) {
    let chunks = x[0].len();
    let x = x.map(|x| &x[..chunks]);
    for column in (0..LANES).step_by(2 * T::LANES) {
        let next = column + T::LANES;
        let (mut p0, mut p1) = (v.load(&part[column..]), v.load(&part[next..]));
        let (mut w0, mut w1) = (v.load(&whole[column..]), v.load(&whole[next..]));
        for i in 0..chunks {
            let (a, b) = factors(v, x, i, column);
            p0 = v.mul_add(a, b, p0);
            w0 = v.mul_add(a, b, w0);
            let (a, b) = factors(v, x, i, next);
            p1 = v.mul_add(a, b, p1);
            w1 = v.mul_add(a, b, w1);
        }
        v.store(p0, &mut part[column..]);
        v.store(p1, &mut part[next..]);
        v.store(w0, &mut whole[column..]);
        v.store(w1, &mut whole[next..]);
    }
}

#[inline(always)]
fn factors<T: Vectors<f64>, const N: usize>(
    v: T,
    x: [&[Chunk]; N],
    chunk: usize,
    column: usize,
) -> (T::Vector, T::Vector) {
    let minus = v.splat(-1.0);
    let a = v.load(&x[0][chunk][column..]);
    if N == 1 {
        return (a, a);
    }
    let b = v.load(&x[1][chunk][column..]);
    if N == 2 {
        return (a, b);
    }
    // -1 * b + a, rounded once, is a - b.
    let mut difference = v.mul_add(minus, b, a);
    if N == 4 {
        let c = v.load(&x[2][chunk][column..]);
        let d = v.load(&x[N - 1][chunk][column..]);
        difference = v.mul_add(minus, v.mul_add(minus, d, c), difference);
    }
    (difference, difference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduce::{
        distance_squared_on, dot_wide_on, double_difference_squared_on, norm_squared_on,
    };

    #[test]
    fn a_survey_has_the_bits_of_single_sums() {
        let n = 1700;
        let x = |k: usize| -> Vec<f32> {
            (0..n).map(|i| ((i * k % 2311) as f32 - 1009.7) / 300.0).collect()
        };
        let [a, b, c, d] = [37, 41, 5, 11].map(x);
        let vectors: [&[f32]; 4] = [&a, &b, &c, &d];
        let terms =
            [Term::Square(2), Term::Dot(0, 3), Term::Distance(3, 1), Term::Cross([0, 1, 2, 3])];
        // Pieces of less than a chunk, across tiles, and at every kind of phase.
        let pieces = [0..3, 3..40, 40..56, 56..1130, 1130..1131, 1131..n];
        for isa in Isa::available() {
            let mut fill = |i: usize, range: Range<usize>, tile: &mut [f64]| {
                widen_on(isa, &vectors[i][range], tile);
            };
            let found = survey_on(isa, vectors.len(), &terms, &pieces, &mut fill);
            let one_by_one = |r: Range<usize>| {
                let [a, b, c, d] = vectors.map(|x| &x[r.clone()]);
                vec![
                    norm_squared_on(isa, c),
                    dot_wide_on(isa, a, d),
                    distance_squared_on(isa, d, b),
                    double_difference_squared_on(isa, a, b, c, d),
                ]
            };
            assert_eq!(found.whole, one_by_one(0..n), "{isa}");
            for (piece, found) in pieces.iter().zip(found.pieces) {
                assert_eq!(found, one_by_one(piece.clone()), "{isa} {piece:?}");
            }
        }
    }
}
