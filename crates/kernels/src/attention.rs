//! Softmax attention of one query per row against a growing cache, and its adjoint.
//!
//! **Layouts.** A [`Cache`] keeps every key and value twice: position-major `[row][head][j][d]`, for
//! sums over positions, and feature-major `[row][head][d][j]`, for scores of many positions at once.
//! So no sum ever runs across a vector register, and a query costs two streams forward and four
//! backward, all contiguous. Each row and head is computed by itself: its bits do not know the batch.
//!
//! **Where the adjoint of a key goes** is the caller's choice, made per position: the query's *own*
//! position, *near* slots and *far* slots (see [`Credit`]). The kernel does not know why.

use crate::isa::dispatch;
use crate::{Real, reduce};

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
                let keys = &mut self.keys_by_feature[base..][..dim * capacity];
                let values = &mut self.values_by_feature[base..][..dim * capacity];
                for d in 0..dim {
                    keys[d * capacity + position] = key[d];
                    values[d * capacity + position] = value[d];
                }
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
                    let at = to + d * shape.capacity + position;
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
    /// Adjoint of the key.
    pub key: &'a mut [R],
    /// Add to `key` instead of storing.
    pub add_key: bool,
    /// Adjoint of the value.
    pub value: &'a mut [R],
    /// Add to `value` instead of storing.
    pub add_value: bool,
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

/// `acc[i] += sum over d of a[d] * b[d][i]` for one block of positions.
#[inline(always)]
fn block_scores<R: Real>(a: &[R], by_feature: &[R], capacity: usize, at: usize) -> [R; BLOCK] {
    let mut acc = [R::ZERO; BLOCK];
    for (&a, row) in a.iter().zip(by_feature.chunks_exact(capacity)) {
        let row: &[R] = &row[at..at + BLOCK];
        for i in 0..BLOCK {
            acc[i] = a.mul_add(row[i], acc[i]);
        }
    }
    acc
}

/// `y += a x`, with the length known to the compiler where it is a usual one.
#[inline(always)]
fn axpy<R: Real, const D: usize>(a: R, x: &[R], y: &mut [R]) {
    if D > 0 {
        let (x, y) = (&x[..D], &mut y[..D]);
        for d in 0..D {
            y[d] = a.mul_add(x[d], y[d]);
        }
    } else {
        let n = y.len();
        let x = &x[..n];
        for d in 0..n {
            y[d] = a.mul_add(x[d], y[d]);
        }
    }
}

/// `out = sum over j in lo..hi of weight[j] * x[j]`, j ascending.
#[inline(always)]
fn mix<R: Real, const D: usize>(reads: Reads, weight: &[R], x: &[R], out: &mut [R], dim: usize) {
    let span = &x[reads.lo * dim..reads.hi * dim];
    let weight = &weight[reads.lo..reads.hi];
    if D > 0 {
        let mut acc = [R::ZERO; D];
        for (&w, x) in weight.iter().zip(span.chunks_exact(D)) {
            for d in 0..D {
                acc[d] = w.mul_add(x[d], acc[d]);
            }
        }
        out[..D].copy_from_slice(&acc);
    } else {
        out[..dim].fill(R::ZERO);
        for (&w, x) in weight.iter().zip(span.chunks_exact(dim)) {
            axpy::<R, 0>(w, x, &mut out[..dim]);
        }
    }
}

#[inline(always)]
fn softmax<R: Real>(reads: Reads, scores: &mut [R]) {
    let first = reads.lo / BLOCK * BLOCK;
    let last = padded(reads.hi);
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
            max[i] = block[i].maximum(max[i]);
        }
    }
    let mut top = max[0];
    for &m in &max[1..] {
        top = m.maximum(top);
    }
    let mut partial = [R::ZERO; BLOCK];
    for at in (first..last).step_by(BLOCK) {
        let block = &mut scores[at..at + BLOCK];
        for i in 0..BLOCK {
            let e = (block[i] - top).exp();
            block[i] = e;
            partial[i] += e;
        }
    }
    let scale = R::ONE / reduce::combine(partial);
    for score in &mut scores[first..last] {
        *score = *score * scale;
    }
}

#[inline(always)]
fn forward_of<R: Real, const D: usize>(
    shape: Shape,
    reads: Reads,
    stride: usize,
    q: &[R],
    cache: &Cache<R>,
    probabilities: &mut [R],
    out: &mut [R],
) {
    let (dim, capacity) = (if D > 0 { D } else { shape.dim }, shape.capacity);
    let scale = R::ONE / R::from_f64(dim as f64).sqrt();
    for row in 0..shape.rows {
        for head in 0..shape.heads {
            let lane = row * shape.heads + head;
            let at = row * stride + head * dim;
            let q = &q[at..at + dim];
            let keys = &cache.keys_by_feature[lane * dim * capacity..][..dim * capacity];
            let p = &mut probabilities[lane * capacity..][..capacity];
            for block in (reads.lo / BLOCK * BLOCK..padded(reads.hi)).step_by(BLOCK) {
                let scores = block_scores(q, keys, capacity, block);
                for i in 0..BLOCK {
                    p[block + i] = scores[i] * scale;
                }
            }
            softmax(reads, p);
            let values = &cache.values[lane * dim * capacity..][..dim * capacity];
            mix::<R, D>(reads, p, values, &mut out[at..at + dim], dim);
        }
    }
}

#[inline(always)]
fn give<R: Real, const D: usize>(
    slots: Option<&mut Slots<R>>,
    reads: Reads,
    lane: usize,
    dim: usize,
    ds: &[R],
    p: &[R],
    q: &[R],
    g: &[R],
) {
    let Some(slots) = slots else { return };
    let (from, to) = (reads.lo.max(slots.start), reads.hi.min(slots.end));
    let base = lane * slots.slots * dim;
    for j in from..to {
        let at = base + (j - slots.start) * dim;
        axpy::<R, D>(ds[j], q, &mut slots.keys[at..at + dim]);
        axpy::<R, D>(p[j], g, &mut slots.values[at..at + dim]);
    }
}

#[inline(always)]
fn adjoint_of<R: Real, const D: usize>(
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
    let (dim, capacity) = (if D > 0 { D } else { shape.dim }, shape.capacity);
    let scale = R::ONE / R::from_f64(dim as f64).sqrt();
    let (ds, spare) = scratch.split_at_mut(capacity);
    let spare = &mut spare[..dim];
    for row in 0..shape.rows {
        for head in 0..shape.heads {
            let lane = row * shape.heads + head;
            let at = row * stride + head * dim;
            let (q, g) = (&q[at..at + dim], &dout[at..at + dim]);
            let p = &probabilities[lane * capacity..][..capacity];
            let values = &cache.values_by_feature[lane * dim * capacity..][..dim * capacity];
            // dp = g . v; ds = p (dp - p . dp) scale
            let mut partial = [R::ZERO; BLOCK];
            let (first, last) = (reads.lo / BLOCK * BLOCK, padded(reads.hi));
            for block in (first..last).step_by(BLOCK) {
                let dp = block_scores(g, values, capacity, block);
                let p = &p[block..block + BLOCK];
                let ds = &mut ds[block..block + BLOCK];
                for i in 0..BLOCK {
                    ds[i] = dp[i];
                    partial[i] = p[i].mul_add(dp[i], partial[i]);
                }
            }
            let mean = reduce::combine(partial);
            for block in (first..last).step_by(BLOCK) {
                let p = &p[block..block + BLOCK];
                let ds = &mut ds[block..block + BLOCK];
                for i in 0..BLOCK {
                    ds[i] = p[i] * (ds[i] - mean) * scale;
                }
            }
            let keys = &cache.keys[lane * dim * capacity..][..dim * capacity];
            mix::<R, D>(reads, ds, keys, spare, dim);
            let dq = &mut dq[at..at + dim];
            for d in 0..dim {
                dq[d] = if add_query { dq[d] + spare[d] } else { spare[d] };
            }
            give::<R, D>(credit.far.as_mut(), reads, lane, dim, ds, p, q, g);
            give::<R, D>(credit.near.as_mut(), reads, lane, dim, ds, p, q, g);
            if let Some(own) = &mut credit.own {
                let j = own.position;
                let (key, value) = (&mut own.key[at..at + dim], &mut own.value[at..at + dim]);
                for d in 0..dim {
                    let (dk, dv) = (ds[j] * q[d], p[j] * g[d]);
                    key[d] = if own.add_key { key[d] + dk } else { dk };
                    value[d] = if own.add_value { value[d] + dv } else { dv };
                }
            }
        }
    }
}

#[inline(always)]
fn forward_body<R: Real>(
    shape: Shape,
    reads: Reads,
    stride: usize,
    q: &[R],
    cache: &Cache<R>,
    probabilities: &mut [R],
    out: &mut [R],
) {
    match shape.dim {
        16 => forward_of::<R, 16>(shape, reads, stride, q, cache, probabilities, out),
        32 => forward_of::<R, 32>(shape, reads, stride, q, cache, probabilities, out),
        _ => forward_of::<R, 0>(shape, reads, stride, q, cache, probabilities, out),
    }
}

#[inline(always)]
fn adjoint_body<R: Real>(
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
    let (p, s) = (probabilities, scratch);
    match shape.dim {
        16 => {
            adjoint_of::<R, 16>(shape, reads, stride, q, cache, p, dout, dq, add_query, credit, s)
        }
        32 => {
            adjoint_of::<R, 32>(shape, reads, stride, q, cache, p, dout, dq, add_query, credit, s)
        }
        _ => adjoint_of::<R, 0>(shape, reads, stride, q, cache, p, dout, dq, add_query, credit, s),
    }
}

dispatch! {
    /// One query per row against the cache. Rows of `q` and `out` lie `stride` apart; the
    /// probabilities (`[row][head][capacity]`) are kept for the adjoint.
    pub fn attend<R: Real>(shape: Shape, reads: Reads, stride: usize, q: &[R], cache: &Cache<R>, probabilities: &mut [R], out: &mut [R]) = forward_body;
}
dispatch! {
    /// The adjoint of [`attend`]: the query's adjoint into `dq` (added if `add_query`), those of keys
    /// and values where `credit` says. `scratch` holds at least `capacity + dim` elements.
    pub fn attend_adjoint<R: Real>(shape: Shape, reads: Reads, stride: usize, q: &[R], cache: &Cache<R>, probabilities: &[R], dout: &[R], dq: &mut [R], add_query: bool, credit: &mut Credit<R>, scratch: &mut [R]) = adjoint_body;
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
