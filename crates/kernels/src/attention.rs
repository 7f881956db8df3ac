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
mod cache;
mod lanes;
mod passes;

pub use cache::Cache;
pub use lanes::{Leave, leave_slot};

use crate::vectors::{self, Vectors, Work};
use crate::{Isa, Real};
use lanes::{enter, leave};
use passes::{mix, scores, softmax, softmax_adjoint, spread};

/// Lanes are padded to a multiple of this, on every machine.
pub const PAD: usize = 16;

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
