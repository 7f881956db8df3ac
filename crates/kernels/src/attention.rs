//! Softmax attention of one query per row against a growing cache, and its adjoint.
//!
//! **Layouts.** A [`Cache`] keeps every key and value twice: position-major `[row][head][j][d]`, for
//! sums over positions, and in blocks of 16 positions `[row][head][block][d][16]`, for scores of many
//! positions at once.
//! So no sum ever runs across a vector register, and a query costs two streams forward and four
//! backward, all contiguous. Each row and head is computed by itself: its bits do not know the batch.
//!
//! **Where the adjoint of a key goes** is the caller's choice, made per position: the query's *own*
//! position, *near* slots and *far* slots (see [`Credit`]). The kernel does not know why.

use crate::vectors::{self, Scalar, Vectors, Work};
use crate::{Isa, Real, reduce};

/// Positions are stored in blocks of this many.
pub const BLOCK: usize = 16;

/// Rounds a number of positions up to whole blocks.
pub fn padded(positions: usize) -> usize {
    positions.div_ceil(BLOCK) * BLOCK
}

/// The shape shared by every call on one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Rows of the batch.
    pub rows: usize,
    /// Attention heads.
    pub heads: usize,
    /// Columns per head.
    pub dim: usize,
    /// Positions the cache can hold, a multiple of [`BLOCK`].
    pub capacity: usize,
}

impl Shape {
    /// Elements of one copy of the keys (or values).
    pub fn cache_len(&self) -> usize {
        self.rows * self.heads * self.dim * self.capacity
    }

    /// Elements of one query's probabilities.
    pub fn probability_len(&self) -> usize {
        self.rows * self.heads * self.capacity
    }

    fn width(&self) -> usize {
        self.heads * self.dim
    }
}

/// Keys and values in both layouts.
#[derive(Clone, Debug, Default)]
pub struct Cache<R> {
    keys: Vec<R>,
    keys_by_feature: Vec<R>,
    values: Vec<R>,
    values_by_feature: Vec<R>,
}

impl<R: Real> Cache<R> {
    /// An empty cache for `shape`.
    pub fn new(shape: Shape) -> Self {
        let zeros = || vec![R::ZERO; shape.cache_len()];
        Self {
            keys: zeros(),
            keys_by_feature: zeros(),
            values: zeros(),
            values_by_feature: zeros(),
        }
    }

    /// Heap bytes held.
    pub fn bytes(&self) -> usize {
        4 * self.keys.len() * size_of::<R>()
    }

    /// Stores one key and value per row at `position`; row `r` is read at `r * stride`.
    pub fn put(&mut self, shape: Shape, position: usize, stride: usize, key: &[R], value: &[R]) {
        let (dim, capacity) = (shape.dim, shape.capacity);
        for row in 0..shape.rows {
            for head in 0..shape.heads {
                let base = (row * shape.heads + head) * dim * capacity;
                let from = row * stride + head * dim;
                let (key, value) = (&key[from..][..dim], &value[from..][..dim]);
                self.keys[base + position * dim..][..dim].copy_from_slice(key);
                self.values[base + position * dim..][..dim].copy_from_slice(value);
                let start = base + position / BLOCK * BLOCK * dim;
                let keys = self.keys_by_feature[start..].as_chunks_mut::<BLOCK>().0;
                keys.iter_mut().zip(key).for_each(|(slots, &k)| slots[position % BLOCK] = k);
                let values = self.values_by_feature[start..].as_chunks_mut::<BLOCK>().0;
                values.iter_mut().zip(value).for_each(|(slots, &v)| slots[position % BLOCK] = v);
            }
        }
    }

    /// Replaces what `position` holds by a donor's: row `r` receives the key and value of row
    /// `source[r]` of `donor`, whose shape may have other rows and capacity.
    pub fn graft(
        &mut self,
        shape: Shape,
        donor: &Self,
        donor_shape: Shape,
        source: &[usize],
        position: usize,
    ) {
        let dim = shape.dim;
        for (row, &from) in source.iter().enumerate() {
            for head in 0..shape.heads {
                let to = (row * shape.heads + head) * dim * shape.capacity;
                let from = (from * shape.heads + head) * dim * donor_shape.capacity;
                let (at, source) = (to + position * dim, from + position * dim);
                self.keys[at..][..dim].copy_from_slice(&donor.keys[source..][..dim]);
                self.values[at..][..dim].copy_from_slice(&donor.values[source..][..dim]);
                for d in 0..dim {
                    let at = to + (position / BLOCK * dim + d) * BLOCK + position % BLOCK;
                    self.keys_by_feature[at] = donor.keys[source + d];
                    self.values_by_feature[at] = donor.values[source + d];
                }
            }
        }
    }
}

/// Which positions a query reads: `lo..hi`, without those that `hidden` marks.
#[derive(Clone, Copy, Debug)]
pub struct Reads<'a> {
    /// First position.
    pub lo: usize,
    /// One past the last position.
    pub hi: usize,
    /// `hidden[j]` removes position `j`.
    pub hidden: Option<&'a [bool]>,
}

/// Slots that receive adjoints of keys and values at positions `start..end`.
///
/// Both slices are `[row][head][slot][d]` with `slots` slots; position `j` uses slot `j - start`.
#[derive(Debug)]
pub struct Slots<'a, R> {
    /// First position served.
    pub start: usize,
    /// One past the last position served.
    pub end: usize,
    /// Slots per row and head.
    pub slots: usize,
    /// Adjoints of keys.
    pub keys: &'a mut [R],
    /// Adjoints of values.
    pub values: &'a mut [R],
}

/// Adjoints of the key and value at the query's own position, row-major.
#[derive(Debug)]
pub struct Own<'a, R> {
    /// The query's position.
    pub position: usize,
    /// Adjoint of the key, stored.
    pub key: &'a mut [R],
    /// Adjoint of the value, stored.
    pub value: &'a mut [R],
}

/// Where the adjoints of keys and values go; a position in no part is dropped.
#[derive(Debug)]
pub struct Credit<'a, R> {
    /// The query's own position.
    pub own: Option<Own<'a, R>>,
    /// The first group of slots.
    pub near: Option<Slots<'a, R>>,
    /// The second group of slots.
    pub far: Option<Slots<'a, R>>,
}

/// Four partial sums of `term(i)` for `i` in `0..n` (i mod 4), fused in ascending order, then their
/// sum: four chains hide each other's latency. Plain counting, because iterators over chunks divide.
#[inline(always)]
fn four_sums<R: Real, T: Vectors<R>>(
    v: T,
    n: usize,
    term: impl Fn(usize) -> (T::Vector, T::Vector),
) -> T::Vector {
    let zero = v.splat(R::ZERO);
    let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
    let fuse = |i: usize, sum: T::Vector| {
        let (x, y) = term(i);
        v.mul_add(x, y, sum)
    };
    let mut i = 0;
    while i + 4 <= n {
        a = fuse(i, a);
        b = fuse(i + 1, b);
        c = fuse(i + 2, c);
        d = fuse(i + 3, d);
        i += 4;
    }
    if i < n {
        a = fuse(i, a);
    }
    if i + 1 < n {
        b = fuse(i + 1, b);
    }
    if i + 2 < n {
        c = fuse(i + 2, c);
    }
    v.add(v.add(a, c), v.add(b, d))
}

/// `out[j] = sum over d of a[d] * b[d][j]` for the positions `first..last`, whole blocks.
#[inline(always)]
fn scores<R: Real, T: Vectors<R>>(
    v: T,
    a: &[R],
    by_feature: &[R],
    first: usize,
    last: usize,
    out: &mut [R],
) {
    let dim = a.len();
    let mut at = first;
    while at < last {
        let block = &by_feature[at / BLOCK * BLOCK * dim..][..BLOCK * dim];
        let inside = at % BLOCK;
        let term = |d: usize| (v.splat(a[d]), v.load(&block[d * BLOCK + inside..][..T::LANES]));
        let sum = four_sums(v, a.len(), term);
        v.store(sum, &mut out[at..at + T::LANES]);
        at += T::LANES;
    }
}

/// `out = sum over j in lo..hi of weight[j] * x[j]`, added to `out` if `add`.
#[inline(always)]
fn mix<R: Real, T: Vectors<R>>(
    v: T,
    reads: Reads,
    weight: &[R],
    x: &[R],
    out: &mut [R],
    add: bool,
) {
    let dim = out.len();
    let x = &x[reads.lo * dim..reads.hi * dim];
    let weight = &weight[reads.lo..reads.hi];
    let mut at = 0;
    while at + T::LANES <= dim {
        let term = |j: usize| (v.splat(weight[j]), v.load(&x[j * dim + at..][..T::LANES]));
        let sum = four_sums(v, weight.len(), term);
        let out = &mut out[at..at + T::LANES];
        v.store(if add { v.add(v.load(out), sum) } else { sum }, out);
        at += T::LANES;
    }
    while at < dim {
        let sum = four_sums(Scalar, weight.len(), |j| (weight[j], x[j * dim + at]));
        out[at] = if add { out[at] + sum } else { sum };
        at += 1;
    }
}

/// `y[j] += weight[j] * x` for every j.
#[inline(always)]
fn spread<R: Real, T: Vectors<R>>(v: T, weight: &[R], x: &[R], y: &mut [R]) {
    let dim = x.len();
    let mut at = 0;
    while at + T::LANES <= dim {
        let x = v.load(&x[at..at + T::LANES]);
        for (j, &w) in weight.iter().enumerate() {
            let y = &mut y[j * dim + at..][..T::LANES];
            v.store(v.mul_add(v.splat(w), x, v.load(y)), y);
        }
        at += T::LANES;
    }
    while at < dim {
        for (j, &w) in weight.iter().enumerate() {
            y[j * dim + at] = w.mul_add(x[at], y[j * dim + at]);
        }
        at += 1;
    }
}

/// Hides what is not read and returns the largest score.
#[inline(always)]
fn mask_and_top<R: Real>(reads: Reads, scores: &mut [R]) -> R {
    let (first, last) = (reads.lo / BLOCK * BLOCK, padded(reads.hi));
    let visible =
        |j: usize| j >= reads.lo && j < reads.hi && reads.hidden.is_none_or(|hidden| !hidden[j]);
    let mut max = [R::from_f64(f64::NEG_INFINITY); BLOCK];
    for at in (first..last).step_by(BLOCK) {
        let block = &mut scores[at..at + BLOCK];
        if at < reads.lo || at + BLOCK > reads.hi || reads.hidden.is_some() {
            for (i, score) in block.iter_mut().enumerate() {
                if !visible(at + i) {
                    *score = R::from_f64(f64::NEG_INFINITY);
                }
            }
        }
        for i in 0..BLOCK {
            max[i] = if block[i] > max[i] { block[i] } else { max[i] };
        }
    }
    reduce::halve(max, |a, b| if a > b { a } else { b })
}

/// Turns scores into e^(scale (score - top)) and returns the reciprocal of their sum.
#[inline(always)]
fn exponentials<R: Real>(reads: Reads, scores: &mut [R], top: R, scale: R) -> R {
    let (first, last) = (reads.lo / BLOCK * BLOCK, padded(reads.hi));
    let mut partial = [R::ZERO; BLOCK];
    for block in scores[first..last].as_chunks_mut::<BLOCK>().0 {
        for i in 0..BLOCK {
            let e = ((block[i] - top) * scale).exp();
            block[i] = e;
            partial[i] += e;
        }
    }
    R::ONE / reduce::combine(partial)
}

/// Heads worked on together: enough independent work to hide each other's latency.
const TOGETHER: usize = 4;

/// Scratch that [`attend_adjoint`] needs.
pub fn scratch_len(shape: Shape) -> usize {
    TOGETHER * shape.capacity
}

/// One forward call.
struct Forward<'a, R> {
    shape: Shape,
    reads: Reads<'a>,
    stride: usize,
    q: &'a [R],
    cache: &'a Cache<R>,
    probabilities: &'a mut [R],
    out: &'a mut [R],
}

impl<R: Real> Work<R> for Forward<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        let Self { shape, reads, stride, q, cache, probabilities, out } = self;
        let Shape { dim, capacity, .. } = shape;
        let scale = R::ONE / R::from_f64(dim as f64).sqrt();
        let (first, last) = (reads.lo / BLOCK * BLOCK, padded(reads.hi));
        let area = dim * capacity;
        for row in 0..shape.rows {
            for group in (0..shape.heads).step_by(TOGETHER) {
                let heads = TOGETHER.min(shape.heads - group);
                let lanes = row * shape.heads + group;
                let p = &mut probabilities[lanes * capacity..][..heads * capacity];
                let at = row * stride + group * dim;
                let mut scales = [R::ZERO; TOGETHER];
                for head in 0..heads {
                    let p = &mut p[head * capacity..][..capacity];
                    let q = &q[at + head * dim..][..dim];
                    let keys = &cache.keys_by_feature[(lanes + head) * area..][..area];
                    scores(v, q, keys, first, last, p);
                }
                for head in 0..heads {
                    scales[head] = mask_and_top(reads, &mut p[head * capacity..][..capacity]);
                }
                for head in 0..heads {
                    let p = &mut p[head * capacity..][..capacity];
                    scales[head] = exponentials(reads, p, scales[head], scale);
                }
                for head in 0..heads {
                    let p = &mut p[head * capacity..][..capacity];
                    let factor = scales[head];
                    for block in p[first..last].as_chunks_mut::<BLOCK>().0 {
                        for p in block {
                            *p = *p * factor;
                        }
                    }
                    let values = &cache.values[(lanes + head) * area..][..area];
                    mix(v, reads, p, values, &mut out[at + head * dim..][..dim], false);
                }
            }
        }
    }
}

/// One adjoint call.
struct Adjoint<'a, 'c, R> {
    shape: Shape,
    reads: Reads<'a>,
    stride: usize,
    q: &'a [R],
    cache: &'a Cache<R>,
    probabilities: &'a [R],
    dout: &'a [R],
    dq: &'a mut [R],
    add_query: bool,
    credit: &'a mut Credit<'c, R>,
    scratch: &'a mut [R],
}

impl<R: Real> Work<R> for Adjoint<'_, '_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        let Self { shape, reads, stride, q, cache, probabilities, dout, dq, add_query, .. } = self;
        let (credit, all_ds) = (self.credit, self.scratch);
        let Shape { dim, capacity, .. } = shape;
        let scale = R::ONE / R::from_f64(dim as f64).sqrt();
        let (first, last) = (reads.lo / BLOCK * BLOCK, padded(reads.hi));
        let area = dim * capacity;
        for row in 0..shape.rows {
            for group in (0..shape.heads).step_by(TOGETHER) {
                let heads = TOGETHER.min(shape.heads - group);
                let lanes = row * shape.heads + group;
                let p = &probabilities[lanes * capacity..][..heads * capacity];
                let ds = &mut all_ds[..heads * capacity];
                let at = row * stride + group * dim;
                // dp = g . v; ds = p (dp - p . dp) scale
                for head in 0..heads {
                    let ds = &mut ds[head * capacity..][..capacity];
                    let g = &dout[at + head * dim..][..dim];
                    let values = &cache.values_by_feature[(lanes + head) * area..][..area];
                    scores(v, g, values, first, last, ds);
                }
                for head in 0..heads {
                    let at = head * capacity;
                    let (p, ds) = (&p[at + first..at + last], &mut ds[at + first..at + last]);
                    softmax_adjoint(p, ds, scale);
                }
                for head in 0..heads {
                    let ds = &ds[head * capacity..][..capacity];
                    let keys = &cache.keys[(lanes + head) * area..][..area];
                    mix(v, reads, ds, keys, &mut dq[at + head * dim..][..dim], add_query);
                }
                for head in 0..heads {
                    let at = at + head * dim;
                    let ds = &ds[head * capacity..][..capacity];
                    let p = &p[head * capacity..][..capacity];
                    let (q, g) = (&q[at..at + dim], &dout[at..at + dim]);
                    for slots in [credit.far.as_mut(), credit.near.as_mut()].into_iter().flatten() {
                        give(v, slots, reads, lanes + head, ds, p, q, g);
                    }
                    if let Some(own) = &mut credit.own {
                        let (j, keys) = (own.position, &mut own.key[at..at + dim]);
                        let values = &mut own.value[at..at + dim];
                        for d in 0..dim {
                            keys[d] = ds[j] * q[d];
                            values[d] = p[j] * g[d];
                        }
                    }
                }
            }
        }
    }
}

/// `ds = p (dp - p . dp) scale`, where `ds` holds `dp` on entry.
#[inline(always)]
fn softmax_adjoint<R: Real>(p: &[R], ds: &mut [R], scale: R) {
    let (p, ds) = (p.as_chunks::<BLOCK>().0, ds.as_chunks_mut::<BLOCK>().0);
    let mut partial = [R::ZERO; BLOCK];
    for (p, ds) in p.iter().zip(&*ds) {
        for i in 0..BLOCK {
            partial[i] = p[i].mul_add(ds[i], partial[i]);
        }
    }
    let mean = reduce::combine(partial);
    for (p, ds) in p.iter().zip(ds) {
        for i in 0..BLOCK {
            ds[i] = p[i] * (ds[i] - mean) * scale;
        }
    }
}

#[inline(always)]
fn give<R: Real, T: Vectors<R>>(
    v: T,
    slots: &mut Slots<R>,
    reads: Reads,
    lane: usize,
    ds: &[R],
    p: &[R],
    q: &[R],
    g: &[R],
) {
    let (from, to) = (reads.lo.max(slots.start), reads.hi.min(slots.end));
    if from < to {
        let dim = q.len();
        let base = (lane * slots.slots + from - slots.start) * dim;
        let span = base..base + (to - from) * dim;
        spread(v, &ds[from..to], q, &mut slots.keys[span.clone()]);
        spread(v, &p[from..to], g, &mut slots.values[span]);
    }
}

/// One query per row against the cache. Rows of `q` and `out` lie `stride` apart; the probabilities
/// (`[row][head][capacity]`) are kept for the adjoint.
pub fn attend<R: Real>(
    isa: Isa,
    shape: Shape,
    reads: Reads,
    stride: usize,
    q: &[R],
    cache: &Cache<R>,
    probabilities: &mut [R],
    out: &mut [R],
) {
    vectors::run(isa, Forward { shape, reads, stride, q, cache, probabilities, out });
}

/// The adjoint of [`attend`]: the query's adjoint into `dq` (added if `add_query`), those of keys and
/// values where `credit` says. `scratch` holds at least [`scratch_len`] elements.
pub fn attend_adjoint<R: Real>(
    isa: Isa,
    shape: Shape,
    reads: Reads,
    stride: usize,
    q: &[R],
    cache: &Cache<R>,
    probabilities: &[R],
    dout: &[R],
    dq: &mut [R],
    add_query: bool,
    credit: &mut Credit<R>,
    scratch: &mut [R],
) {
    let work = Adjoint {
        shape,
        reads,
        stride,
        q,
        cache,
        probabilities,
        dout,
        dq,
        add_query,
        credit,
        scratch,
    };
    vectors::run(isa, work);
}

impl Shape {
    /// Adds slot contents to the adjoints of one position: `target[row][head*dim + d] += slot`.
    pub fn collect<R: Real>(
        &self,
        slots: usize,
        slot: usize,
        from: &[R],
        target: &mut [R],
        stride: usize,
    ) {
        self.for_slot(slots, slot, from, target, stride, |target, from| *target += from);
    }

    /// As [`Shape::collect`], with `apply(target, slot value)` for each element.
    pub fn for_slot<R: Real>(
        &self,
        slots: usize,
        slot: usize,
        from: &[R],
        target: &mut [R],
        stride: usize,
        apply: impl Fn(&mut R, R),
    ) {
        debug_assert!(stride >= self.width());
        for row in 0..self.rows {
            for head in 0..self.heads {
                let at = ((row * self.heads + head) * slots + slot) * self.dim;
                let from = &from[at..][..self.dim];
                let target = &mut target[row * stride + head * self.dim..][..self.dim];
                for (target, &from) in target.iter_mut().zip(from) {
                    apply(target, from);
                }
            }
        }
    }

    /// Sets one slot of every row and head to zero.
    pub fn clear_slot<R: Real>(&self, slots: usize, slot: usize, data: &mut [R]) {
        for lane in 0..self.rows * self.heads {
            data[(lane * slots + slot) * self.dim..][..self.dim].fill(R::ZERO);
        }
    }
}
