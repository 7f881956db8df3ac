//! Softmax over the positions read, and its adjoint.

use super::{PAD, Reads};
use crate::Real;

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
