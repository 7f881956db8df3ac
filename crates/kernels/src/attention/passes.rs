//! The sums of attention: scores, softmax, mixtures, and their adjoints, lane by lane.

use super::{PAD, Reads, Shape};
use crate::Real;
use crate::vectors::Vectors;

/// Features worked on together: their registers and a few more fit every machine.
const TOGETHER: usize = 8;

/// Eight features of one block of lanes, contiguous.
type Features<R> = [R; TOGETHER * PAD];

/// One vector of feature `i`.
#[inline(always)]
fn feature<R: Real, T: Vectors<R>>(v: T, x: &Features<R>, i: usize, inside: usize) -> T::Vector {
    v.load(&x[i * PAD + inside..i * PAD + inside + T::LANES])
}

/// Runs `$eight` for every vector of lanes and every group of eight features, and `$one` for every
/// feature left over, with the offset in a slot, the vector's place in its block, its first lane, and
/// whether these are the first features. A macro, because closures are not forced inline, and one
/// that is not loses its vector instructions.
macro_rules! walk {
    ($token:ty, $shape:expr, |$at:ident, $inside:ident, $lane:ident, $first:ident| $eight:block else $one:block) => {
        let mut block = 0;
        while block < $shape.lanes() / PAD {
            let mut $inside = 0;
            while $inside < PAD {
                let $lane = block * PAD + $inside;
                let mut d = 0;
                while d + TOGETHER <= $shape.dim {
                    let ($at, $first) = ((block * $shape.dim + d) * PAD, d == 0);
                    let _ = $first;
                    $eight
                    d += TOGETHER;
                }
                while d < $shape.dim {
                    let ($at, $first) = ((block * $shape.dim + d) * PAD + $inside, d == 0);
                    let _ = $first;
                    $one
                    d += 1;
                }
                $inside += <$token>::LANES;
            }
            block += 1;
        }
    };
}

#[inline(always)]
fn features<R: Real>(x: &[R], at: usize) -> &Features<R> {
    x[at..].first_chunk().expect("a slot holds whole groups of features")
}

#[inline(always)]
fn features_mut<R: Real>(x: &mut [R], at: usize) -> &mut Features<R> {
    x[at..].first_chunk_mut().expect("a slot holds whole groups of features")
}

/// `out[j] = sum over d of a[d] * x[j][d]`, d ascending, for the positions read.
#[inline(always)]
pub(super) fn scores<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    reads: Reads,
    a: &[R],
    x: &[R],
    out: &mut [R],
) {
    let (lanes, len) = (shape.lanes(), shape.slot_len());
    walk!(T, shape, |at, inside, lane, first| {
        let a = features(a, at);
        let mut held = [v.splat(R::ZERO); TOGETHER];
        for i in 0..TOGETHER {
            held[i] = feature(v, a, i, inside);
        }
        for j in reads.lo..reads.hi {
            let x = features(x, j * len + at);
            let out = &mut out[j * lanes + lane..][..T::LANES];
            let mut sum = if first { v.splat(R::ZERO) } else { v.load(out) };
            for i in 0..TOGETHER {
                sum = v.mul_add(held[i], feature(v, x, i, inside), sum);
            }
            v.store(sum, out);
        }
    } else {
        let a = v.load(&a[at..at + T::LANES]);
        for j in reads.lo..reads.hi {
            let out = &mut out[j * lanes + lane..][..T::LANES];
            let sum = if first { v.splat(R::ZERO) } else { v.load(out) };
            v.store(v.mul_add(a, v.load(&x[j * len + at..][..T::LANES]), sum), out);
        }
    });
}

/// `out[d] = sum over j of weight[j] * x[j][d]`, j ascending over the positions read.
#[inline(always)]
pub(super) fn mix<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    reads: Reads,
    weight: &[R],
    x: &[R],
    out: &mut [R],
) {
    let (lanes, len) = (shape.lanes(), shape.slot_len());
    walk!(T, shape, |at, inside, lane, first| {
        let mut sums = [v.splat(R::ZERO); TOGETHER];
        for j in reads.lo..reads.hi {
            if reads.sees(j) {
                let w = v.load(&weight[j * lanes + lane..][..T::LANES]);
                let x = features(x, j * len + at);
                for i in 0..TOGETHER {
                    sums[i] = v.mul_add(w, feature(v, x, i, inside), sums[i]);
                }
            }
        }
        let out = features_mut(out, at);
        for i in 0..TOGETHER {
            v.store(sums[i], &mut out[i * PAD + inside..i * PAD + inside + T::LANES]);
        }
    } else {
        let mut sum = v.splat(R::ZERO);
        for j in (reads.lo..reads.hi).filter(|&j| reads.sees(j)) {
            let w = v.load(&weight[j * lanes + lane..][..T::LANES]);
            sum = v.mul_add(w, v.load(&x[j * len + at..][..T::LANES]), sum);
        }
        v.store(sum, &mut out[at..at + T::LANES]);
    });
}

/// `y[j - start][d] += weight[j] * x[d]` for the positions `from..to`.
#[inline(always)]
pub(super) fn spread<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    (from, to, start): (usize, usize, usize),
    weight: &[R],
    x: &[R],
    y: &mut [R],
) {
    let (lanes, len) = (shape.lanes(), shape.slot_len());
    walk!(T, shape, |at, inside, lane, first| {
        let x = features(x, at);
        let mut held = [v.splat(R::ZERO); TOGETHER];
        for i in 0..TOGETHER {
            held[i] = feature(v, x, i, inside);
        }
        for j in from..to {
            let w = v.load(&weight[j * lanes + lane..][..T::LANES]);
            let y = features_mut(y, (j - start) * len + at);
            for i in 0..TOGETHER {
                let y = &mut y[i * PAD + inside..i * PAD + inside + T::LANES];
                v.store(v.mul_add(w, held[i], v.load(y)), y);
            }
        }
    } else {
        let x = v.load(&x[at..at + T::LANES]);
        for j in from..to {
            let w = v.load(&weight[j * lanes + lane..][..T::LANES]);
            let y = &mut y[(j - start) * len + at..][..T::LANES];
            v.store(v.mul_add(w, x, v.load(y)), y);
        }
    });
}

/// Turns scores into probabilities, lane by lane; positions not read become zero.
#[inline(always)]
pub(super) fn softmax<R: Real>(lanes: usize, reads: Reads, scale: R, p: &mut [R]) {
    for block in 0..lanes / PAD {
        let row = |j: usize| j * lanes + block * PAD..j * lanes + (block + 1) * PAD;
        let mut max = [R::from_f64(f64::NEG_INFINITY); PAD];
        for j in reads.lo..reads.hi {
            if reads.sees(j) {
                let p = &p[row(j)];
                for i in 0..PAD {
                    max[i] = if p[i] > max[i] { p[i] } else { max[i] };
                }
            }
        }
        let mut total = [R::ZERO; PAD];
        for j in reads.lo..reads.hi {
            let p = &mut p[row(j)];
            if reads.sees(j) {
                for i in 0..PAD {
                    p[i] = ((p[i] - max[i]) * scale).exp();
                    total[i] += p[i];
                }
            } else {
                p.fill(R::ZERO);
            }
        }
        for i in 0..PAD {
            total[i] = R::ONE / total[i];
        }
        for j in reads.lo..reads.hi {
            let p = &mut p[row(j)];
            for i in 0..PAD {
                p[i] = p[i] * total[i];
            }
        }
    }
}

/// `ds = p (dp - p . dp) scale`, where `ds` holds `dp` on entry.
#[inline(always)]
pub(super) fn softmax_adjoint<R: Real>(
    lanes: usize,
    reads: Reads,
    scale: R,
    p: &[R],
    ds: &mut [R],
) {
    for block in 0..lanes / PAD {
        let row = |j: usize| j * lanes + block * PAD..j * lanes + (block + 1) * PAD;
        let mut mean = [R::ZERO; PAD];
        for j in reads.lo..reads.hi {
            let (p, ds) = (&p[row(j)], &ds[row(j)]);
            for i in 0..PAD {
                mean[i] = p[i].mul_add(ds[i], mean[i]);
            }
        }
        for j in reads.lo..reads.hi {
            let (p, ds) = (&p[row(j)], &mut ds[row(j)]);
            for i in 0..PAD {
                ds[i] = p[i] * (ds[i] - mean[i]) * scale;
            }
        }
    }
}
