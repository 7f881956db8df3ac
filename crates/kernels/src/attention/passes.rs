//! The sums of attention: scores, mixtures, and what positions receive, lane by lane.

use std::ops::Range;

use super::{NEIGHBOURS, PAD, Reads, Shape, Stack};
use crate::Real;
use crate::vectors::Vectors;

/// A pass over positions, for a few features of one vector of lanes at a time.
trait Pass<R: Real, T: Vectors<R>> {
    /// Works on `N` features. Must be `#[inline(always)]`.
    fn part<const N: usize>(&mut self, v: T, at: At);
}

/// A vector of lanes (`inside` its block) and the first of its features that are worked on.
#[derive(Clone, Copy)]
struct At {
    block: usize,
    inside: usize,
    d: usize,
}

impl At {
    /// The vector's first lane.
    #[inline(always)]
    fn lane(self) -> usize {
        self.block * PAD + self.inside
    }
}

/// Covers every vector of lanes and every feature: sixteen features at a time where 32 registers
/// hold them, else eight, the rest one by one.
#[inline(always)]
fn walk<R: Real, T: Vectors<R>>(v: T, shape: Shape, pass: &mut impl Pass<R, T>) {
    let many_registers = size_of::<T::Vector>() == 64;
    for block in 0..shape.lanes() / PAD {
        for inside in (0..PAD).step_by(T::LANES) {
            let mut d = 0;
            while many_registers && d + 16 <= shape.dim {
                pass.part::<16>(v, At { block, inside, d });
                d += 16;
            }
            while d + 8 <= shape.dim {
                pass.part::<8>(v, At { block, inside, d });
                d += 8;
            }
            while d < shape.dim {
                pass.part::<1>(v, At { block, inside, d });
                d += 1;
            }
        }
    }
}

/// `N` features of one position of a block.
#[inline(always)]
fn features<R: Real, const N: usize>(block: &[R], shape: Shape, j: usize, d: usize) -> &[R] {
    &block[(j * shape.dim + d) * PAD..][..N * PAD]
}

/// One vector of feature `i`.
#[inline(always)]
fn feature<R: Real, T: Vectors<R>>(v: T, x: &[R], i: usize, inside: usize) -> T::Vector {
    v.load(&x[i * PAD + inside..])
}

/// `out[j] = sum over d of a[d] * x[j][d]`, d ascending, for the positions read.
#[inline(always)]
pub(super) fn scores<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    reads: Reads,
    (a, position): (&Stack<R>, usize),
    x: &Stack<R>,
    out: &mut [R],
) {
    walk(v, shape, &mut Scores { shape, reads, a, position, x, out });
}

struct Scores<'a, R> {
    shape: Shape,
    reads: Reads<'a>,
    a: &'a Stack<R>,
    position: usize,
    x: &'a Stack<R>,
    out: &'a mut [R],
}

impl<R: Real, T: Vectors<R>> Pass<R, T> for Scores<'_, R> {
    #[inline(always)]
    fn part<const N: usize>(&mut self, v: T, at: At) {
        let (shape, lanes) = (self.shape, self.shape.lanes());
        let a = features::<R, N>(self.a.block(shape, at.block), shape, self.position, at.d);
        let mut held = [v.splat(R::ZERO); N];
        for i in 0..N {
            held[i] = feature(v, a, i, at.inside);
        }
        let block = self.x.block(shape, at.block);
        for j in self.reads.lo..self.reads.hi {
            let x = features::<R, N>(block, shape, j, at.d);
            let out = &mut self.out[j * lanes + at.lane()..][..T::LANES];
            let mut sum = if at.d == 0 { v.splat(R::ZERO) } else { v.load(out) };
            for i in 0..N {
                sum = v.mul_add(held[i], feature(v, x, i, at.inside), sum);
            }
            v.store(sum, out);
        }
    }
}

/// `out[d] = sum over j of weight[j] * x[j][d]`, j ascending over the positions read.
#[inline(always)]
pub(super) fn mix<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    reads: Reads,
    weight: &[R],
    x: &Stack<R>,
    out: &mut [R],
) {
    let positions = (reads.lo..reads.hi).filter(|&j| reads.sees(j));
    let stride = shape.lanes();
    walk(v, shape, &mut Mix { shape, weight, stride, x, positions, goes_on: false, out });
}

/// `out[d] += sum over i of weight[i * stride] * x[i][d]` over `queries`, the last first.
#[inline(always)]
pub(super) fn gather<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    queries: Range<usize>,
    weight: &[R],
    stride: usize,
    x: &Stack<R>,
    out: &mut [R],
) {
    let positions = queries.rev();
    walk(v, shape, &mut Mix { shape, weight, stride, x, positions, goes_on: true, out });
}

struct Mix<'a, R, P> {
    shape: Shape,
    weight: &'a [R],
    stride: usize,
    x: &'a Stack<R>,
    positions: P,
    /// Whether sums go on from what `out` holds.
    goes_on: bool,
    out: &'a mut [R],
}

impl<R: Real, T: Vectors<R>, P: Iterator<Item = usize> + Clone> Pass<R, T> for Mix<'_, R, P> {
    #[inline(always)]
    fn part<const N: usize>(&mut self, v: T, at: At) {
        let block = self.x.block(self.shape, at.block);
        let out = &mut self.out[(at.block * self.shape.dim + at.d) * PAD..][..N * PAD];
        let mut sums = [v.splat(R::ZERO); N];
        if self.goes_on {
            for i in 0..N {
                sums[i] = feature(v, out, i, at.inside);
            }
        }
        for j in self.positions.clone() {
            let w = v.load(&self.weight[j * self.stride + at.lane()..]);
            let x = features::<R, N>(block, self.shape, j, at.d);
            for i in 0..N {
                sums[i] = v.mul_add(w, feature(v, x, i, at.inside), sums[i]);
            }
        }
        for i in 0..N {
            v.store(sums[i], &mut out[i * PAD + at.inside..]);
        }
    }
}

/// Queries that are asked for before their turn.
const AHEAD: usize = 8;

/// [`gather`] for four neighbouring positions from zero: what a query sends is read once for all of
/// them. `out` holds four slots; `weight` begins at the first position.
#[inline(always)]
pub(super) fn gather_neighbours<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    queries: Range<usize>,
    weight: &[R],
    stride: usize,
    x: &Stack<R>,
    out: &mut [R],
) {
    let (lanes, len) = (shape.lanes(), shape.slot_len());
    for block in 0..lanes / PAD {
        let x = x.block(shape, block);
        for inside in (0..PAD).step_by(T::LANES) {
            let lane = block * PAD + inside;
            let mut d = 0;
            while d + NEIGHBOURS <= shape.dim {
                let mut sums = [[v.splat(R::ZERO); NEIGHBOURS]; NEIGHBOURS];
                for j in queries.clone().rev() {
                    let x = features::<R, NEIGHBOURS>(x, shape, j, d);
                    let weight = &weight[j * stride..][..NEIGHBOURS * lanes];
                    // Both lie far apart from one query to the next: no processor guesses that.
                    for i in 0..NEIGHBOURS {
                        let at = i * PAD + inside;
                        v.prefetch(
                            x.as_ptr().wrapping_sub(AHEAD * shape.dim * PAD).wrapping_add(at),
                        );
                        if d == 0 {
                            let at = i * lanes + lane;
                            v.prefetch(
                                weight.as_ptr().wrapping_sub(AHEAD * stride).wrapping_add(at),
                            );
                        }
                    }
                    let mut held = [v.splat(R::ZERO); NEIGHBOURS];
                    for i in 0..NEIGHBOURS {
                        held[i] = feature(v, x, i, inside);
                    }
                    for p in 0..NEIGHBOURS {
                        let w = v.load(&weight[p * lanes + lane..]);
                        for i in 0..NEIGHBOURS {
                            sums[p][i] = v.mul_add(w, held[i], sums[p][i]);
                        }
                    }
                }
                for p in 0..NEIGHBOURS {
                    let at = p * len + (block * shape.dim + d) * PAD + inside;
                    for i in 0..NEIGHBOURS {
                        v.store(sums[p][i], &mut out[at + i * PAD..]);
                    }
                }
                d += NEIGHBOURS;
            }
            for d in d..shape.dim {
                for p in 0..NEIGHBOURS {
                    let mut sum = v.splat(R::ZERO);
                    for j in queries.clone().rev() {
                        let w = v.load(&weight[j * stride + p * lanes + lane..]);
                        let x = features::<R, 1>(x, shape, j, d);
                        sum = v.mul_add(w, feature(v, x, 0, inside), sum);
                    }
                    let at = p * len + (block * shape.dim + d) * PAD + inside;
                    v.store(sum, &mut out[at..]);
                }
            }
        }
    }
}

/// `y[j][d] += weight[j] * x[d]` for the positions read.
#[inline(always)]
pub(super) fn spread<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    reads: Reads,
    weight: &[R],
    (x, position): (&Stack<R>, usize),
    y: &mut Stack<R>,
) {
    walk(v, shape, &mut Spread { shape, reads, weight, x, position, y });
}

struct Spread<'a, R> {
    shape: Shape,
    reads: Reads<'a>,
    weight: &'a [R],
    x: &'a Stack<R>,
    position: usize,
    y: &'a mut Stack<R>,
}

impl<R: Real, T: Vectors<R>> Pass<R, T> for Spread<'_, R> {
    #[inline(always)]
    fn part<const N: usize>(&mut self, v: T, at: At) {
        let (shape, lanes) = (self.shape, self.shape.lanes());
        let x = features::<R, N>(self.x.block(shape, at.block), shape, self.position, at.d);
        let mut held = [v.splat(R::ZERO); N];
        for i in 0..N {
            held[i] = feature(v, x, i, at.inside);
        }
        let block = self.y.block_mut(shape, at.block);
        for j in self.reads.lo..self.reads.hi {
            let w = v.load(&self.weight[j * lanes + at.lane()..]);
            let y = &mut block[(j * shape.dim + at.d) * PAD..][..N * PAD];
            for i in 0..N {
                let y = &mut y[i * PAD + at.inside..][..T::LANES];
                v.store(v.mul_add(w, held[i], v.load(y)), y);
            }
        }
    }
}

/// `out[d] = weight * x[d]`, the product rounded.
#[inline(always)]
pub(super) fn weigh<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    weight: &[R],
    (x, position): (&Stack<R>, usize),
    out: &mut [R],
) {
    walk(v, shape, &mut Weigh { shape, weight, x, position, out });
}

struct Weigh<'a, R> {
    shape: Shape,
    weight: &'a [R],
    x: &'a Stack<R>,
    position: usize,
    out: &'a mut [R],
}

impl<R: Real, T: Vectors<R>> Pass<R, T> for Weigh<'_, R> {
    #[inline(always)]
    fn part<const N: usize>(&mut self, v: T, at: At) {
        let shape = self.shape;
        let x = features::<R, N>(self.x.block(shape, at.block), shape, self.position, at.d);
        let w = v.load(&self.weight[at.lane()..]);
        let out = &mut self.out[(at.block * shape.dim + at.d) * PAD..][..N * PAD];
        for i in 0..N {
            let product = v.mul(w, feature(v, x, i, at.inside));
            v.store(product, &mut out[i * PAD + at.inside..]);
        }
    }
}
