//! Softmax attention of one query per row against a growing cache, and its adjoint.
//!
//! **Decision: rows and heads are the vector lanes.** Every row and head is an independent attention,
//! so they lie side by side: a key or value is `[block][feature][16 lanes]` with lane `head * rows +
//! row`, the lanes padded to whole blocks of [`PAD`]. No sum ever runs across a register, softmax needs no shuffles, every
//! stream is contiguous, and a lane's bits do not know the batch it sits in. The price is a small
//! transpose where a row-major activation enters or leaves.
//!
//! **Where the adjoint of a key goes** is the caller's choice, made per position: the query's *own*
//! position, *near* slots and *far* slots (see [`Credit`]). The kernel does not know why.

use crate::vectors::{self, Square, Vectors, Work};
use crate::{Isa, Real};

/// Lanes are padded to a multiple of this, on every machine.
pub const PAD: usize = 16;

/// Features worked on together: their registers and a few more fit every machine.
const TOGETHER: usize = 8;

/// The shape shared by every call on one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Rows of the batch.
    pub rows: usize,
    /// Attention heads.
    pub heads: usize,
    /// Columns per head.
    pub dim: usize,
    /// Positions the cache can hold.
    pub capacity: usize,
}

impl Shape {
    /// Lanes, padding included.
    pub fn lanes(&self) -> usize {
        (self.rows * self.heads).div_ceil(PAD) * PAD
    }

    /// The lane of a row and head.
    pub fn lane(&self, row: usize, head: usize) -> usize {
        head * self.rows + row
    }

    /// Elements of one key, value or slot, `[block][feature][16 lanes]`.
    pub fn slot_len(&self) -> usize {
        self.dim * self.lanes()
    }

    /// Where a lane's feature lies in a slot.
    #[inline(always)]
    fn at(&self, lane: usize, d: usize) -> usize {
        (lane / PAD * self.dim + d) * PAD + lane % PAD
    }

    /// Elements of one query's probabilities, `[position][lane]`.
    pub fn probability_len(&self) -> usize {
        self.capacity * self.lanes()
    }

    /// Elements of scratch that [`attend`] and [`attend_adjoint`] need.
    pub fn scratch_len(&self) -> usize {
        3 * self.slot_len() + self.probability_len()
    }
}

/// Keys and values, a slot per position.
#[derive(Clone, Debug, Default)]
pub struct Cache<R> {
    keys: Vec<R>,
    values: Vec<R>,
}

impl<R: Real> Cache<R> {
    /// An empty cache for `shape`.
    pub fn new(shape: Shape) -> Self {
        let zeros = || vec![R::ZERO; shape.capacity * shape.slot_len()];
        Self { keys: zeros(), values: zeros() }
    }

    /// Heap bytes held.
    pub fn bytes(&self) -> usize {
        (self.keys.capacity() + self.values.capacity()) * size_of::<R>()
    }

    /// Stores one key and value per row at `position`; row `r` is read at `r * stride`.
    pub fn put(
        &mut self,
        isa: Isa,
        shape: Shape,
        position: usize,
        stride: usize,
        key: &[R],
        value: &[R],
    ) {
        let len = shape.slot_len();
        let slot = position * len..(position + 1) * len;
        for (from, to) in [(key, &mut self.keys), (value, &mut self.values)] {
            vectors::run(isa, Enter { shape, stride, from, to: &mut to[slot.clone()] });
        }
    }

    /// Replaces what `position` holds by a donor's: row `r` receives the key and value of row
    /// `source[r]` of `donor`, whose shape may have other rows.
    pub fn graft(
        &mut self,
        shape: Shape,
        donor: &Self,
        donor_shape: Shape,
        source: &[usize],
        position: usize,
    ) {
        let (len, donor_len) = (shape.slot_len(), donor_shape.slot_len());
        for d in 0..shape.dim {
            for head in 0..shape.heads {
                for (row, &from) in source.iter().enumerate() {
                    let to = position * len + shape.at(shape.lane(row, head), d);
                    let from = donor_shape.at(donor_shape.lane(from, head), d);
                    let from = position * donor_len + from;
                    self.keys[to] = donor.keys[from];
                    self.values[to] = donor.values[from];
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

impl Reads<'_> {
    #[inline(always)]
    fn sees(&self, j: usize) -> bool {
        match self.hidden {
            Some(hidden) => !hidden[j],
            None => true,
        }
    }
}

/// Slots that receive adjoints of keys and values at positions `start..end`.
///
/// Both slices hold whole slots; position `j` uses slot `j - start`.
#[derive(Debug)]
pub struct Slots<'a, R> {
    /// First position served.
    pub start: usize,
    /// One past the last position served.
    pub end: usize,
    /// Adjoints of keys.
    pub keys: &'a mut [R],
    /// Adjoints of values.
    pub values: &'a mut [R],
}

/// Adjoints of the key and value at the query's own position, row-major, stored.
#[derive(Debug)]
pub struct Own<'a, R> {
    /// The query's position.
    pub position: usize,
    /// Adjoint of the key.
    pub key: &'a mut [R],
    /// Adjoint of the value.
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

/// How lanes are written back to rows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Leave<R> {
    /// `row = lane`
    Store,
    /// `row += lane`
    Add,
    /// `row += factor * lane`, fused
    Scaled(R),
}

/// Row-major `[row][head][feature]` to a slot.
struct Enter<'a, R> {
    shape: Shape,
    stride: usize,
    from: &'a [R],
    to: &'a mut [R],
}

impl<R: Real> Work<R> for Enter<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        enter(v.narrow(), self.shape, self.stride, self.from, self.to);
    }
}

#[inline(always)]
fn enter<R: Real, N: Square<R>>(v: N, shape: Shape, stride: usize, from: &[R], to: &mut [R]) {
    let side = N::LANES;
    // Squares go through registers where they cannot straddle two blocks of lanes.
    let fits = shape.rows.is_multiple_of(side);
    let squares = if fits { (shape.rows, shape.dim / side * side) } else { (0, 0) };
    for head in 0..shape.heads {
        let (column, first) = (head * shape.dim, head * shape.rows);
        for row in (0..squares.0).step_by(side) {
            for d in (0..squares.1).step_by(side) {
                let mut square = [v.splat(R::ZERO); 4];
                for i in 0..side {
                    square[i] = v.load(&from[(row + i) * stride + column + d..][..side]);
                }
                let square = v.transpose(square);
                for i in 0..side {
                    v.store(square[i], &mut to[shape.at(first + row, d + i)..][..side]);
                }
            }
        }
        for row in 0..shape.rows {
            let done = if row < squares.0 { squares.1 } else { 0 };
            for d in done..shape.dim {
                to[shape.at(first + row, d)] = from[row * stride + column + d];
            }
        }
    }
}

/// A slot back to row-major.
struct LeaveWork<'a, R> {
    shape: Shape,
    stride: usize,
    how: Leave<R>,
    from: &'a [R],
    to: &'a mut [R],
}

impl<R: Real> Work<R> for LeaveWork<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        leave(v.narrow(), self.shape, self.stride, self.how, self.from, self.to);
    }
}

#[inline(always)]
fn leave<R: Real, N: Square<R>>(
    v: N,
    shape: Shape,
    stride: usize,
    how: Leave<R>,
    from: &[R],
    to: &mut [R],
) {
    let side = N::LANES;
    // Squares go through registers where they cannot straddle two blocks of lanes.
    let fits = shape.rows.is_multiple_of(side);
    let squares = if fits { (shape.rows, shape.dim / side * side) } else { (0, 0) };
    for head in 0..shape.heads {
        let (column, first) = (head * shape.dim, head * shape.rows);
        for row in (0..squares.0).step_by(side) {
            for d in (0..squares.1).step_by(side) {
                let mut square = [v.splat(R::ZERO); 4];
                for i in 0..side {
                    square[i] = v.load(&from[shape.at(first + row, d + i)..][..side]);
                }
                let square = v.transpose(square);
                for i in 0..side {
                    let to = &mut to[(row + i) * stride + column + d..][..side];
                    let value = match how {
                        Leave::Store => square[i],
                        Leave::Add => v.add(v.load(to), square[i]),
                        Leave::Scaled(factor) => v.mul_add(v.splat(factor), square[i], v.load(to)),
                    };
                    v.store(value, to);
                }
            }
        }
        for row in 0..shape.rows {
            let done = if row < squares.0 { squares.1 } else { 0 };
            for d in done..shape.dim {
                let to = &mut to[row * stride + column + d];
                let value = from[shape.at(first + row, d)];
                *to = match how {
                    Leave::Store => value,
                    Leave::Add => *to + value,
                    Leave::Scaled(factor) => factor.mul_add(value, *to),
                };
            }
        }
    }
}

/// Writes one slot to rows that lie `stride` apart.
pub fn leave_slot<R: Real>(
    isa: Isa,
    shape: Shape,
    stride: usize,
    how: Leave<R>,
    slot: &[R],
    to: &mut [R],
) {
    vectors::run(isa, LeaveWork { shape, stride, how, from: slot, to });
}

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
fn scores<R: Real, T: Vectors<R>>(
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
fn mix<R: Real, T: Vectors<R>>(
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
fn spread<R: Real, T: Vectors<R>>(
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
fn softmax<R: Real>(lanes: usize, reads: Reads, scale: R, p: &mut [R]) {
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
fn softmax_adjoint<R: Real>(lanes: usize, reads: Reads, scale: R, p: &[R], ds: &mut [R]) {
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

/// One forward call.
struct Forward<'a, R> {
    shape: Shape,
    reads: Reads<'a>,
    stride: usize,
    q: &'a [R],
    cache: &'a Cache<R>,
    probabilities: &'a mut [R],
    out: &'a mut [R],
    scratch: &'a mut [R],
}

impl<R: Real> Work<R> for Forward<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        let Self { shape, reads, stride, probabilities: p, cache, .. } = self;
        let (len, lanes) = (shape.slot_len(), shape.lanes());
        let (q, rest) = self.scratch.split_at_mut(len);
        let out = &mut rest[..len];
        let scale = R::ONE / R::from_f64(shape.dim as f64).sqrt();
        enter(v.narrow(), shape, stride, self.q, q);
        scores(v, shape, reads, q, &cache.keys, p);
        softmax(lanes, reads, scale, p);
        mix(v, shape, reads, p, &cache.values, out);
        leave(v.narrow(), shape, stride, Leave::Store, out, self.out);
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
        let Self { shape, reads, stride, probabilities: p, cache, credit, .. } = self;
        let (len, lanes) = (shape.slot_len(), shape.lanes());
        let (q, rest) = self.scratch.split_at_mut(len);
        let (g, rest) = rest.split_at_mut(len);
        let (dq, ds) = rest.split_at_mut(len);
        let scale = R::ONE / R::from_f64(shape.dim as f64).sqrt();
        enter(v.narrow(), shape, stride, self.q, q);
        enter(v.narrow(), shape, stride, self.dout, g);
        scores(v, shape, reads, g, &cache.values, ds);
        softmax_adjoint(lanes, reads, scale, p, ds);
        mix(v, shape, reads, ds, &cache.keys, dq);
        let how = if self.add_query { Leave::Add } else { Leave::Store };
        leave(v.narrow(), shape, stride, how, dq, self.dq);
        if let Some(slots) = &mut credit.far {
            give(v, shape, reads, slots, ds, p, q, g);
        }
        if let Some(slots) = &mut credit.near {
            give(v, shape, reads, slots, ds, p, q, g);
        }
        if let Some(own) = &mut credit.own {
            let at = own.position * lanes;
            for (weight, x, to) in [
                (&ds[at..at + lanes], &*q, &mut *own.key),
                (&p[at..at + lanes], &*g, &mut *own.value),
            ] {
                for block in 0..lanes / PAD {
                    let weight = &weight[block * PAD..][..PAD];
                    for d in 0..shape.dim {
                        let at = (block * shape.dim + d) * PAD;
                        let (dq, x) = (&mut dq[at..at + PAD], &x[at..at + PAD]);
                        for i in 0..PAD {
                            dq[i] = weight[i] * x[i];
                        }
                    }
                }
                leave(v.narrow(), shape, stride, Leave::Store, dq, to);
            }
        }
    }
}

#[inline(always)]
fn give<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    reads: Reads,
    slots: &mut Slots<R>,
    ds: &[R],
    p: &[R],
    q: &[R],
    g: &[R],
) {
    let (from, to) = (reads.lo.max(slots.start), reads.hi.min(slots.end));
    if from < to {
        spread(v, shape, (from, to, slots.start), ds, q, slots.keys);
        spread(v, shape, (from, to, slots.start), p, g, slots.values);
    }
}

/// One query per row against the cache. Rows of `q` and `out` lie `stride` apart; the probabilities
/// (`[position][lane]`) are kept for the adjoint; `scratch` holds [`Shape::scratch_len`] elements.
pub fn attend<R: Real>(
    isa: Isa,
    shape: Shape,
    reads: Reads,
    stride: usize,
    q: &[R],
    cache: &Cache<R>,
    probabilities: &mut [R],
    out: &mut [R],
    scratch: &mut [R],
) {
    vectors::run(isa, Forward { shape, reads, stride, q, cache, probabilities, out, scratch });
}

/// The adjoint of [`attend`]: the query's adjoint into `dq` (added if `add_query`), those of keys and
/// values where `credit` says. `scratch` holds [`Shape::scratch_len`] elements.
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
