//! Softmax attention of one query per row against a growing cache, and its adjoint.
//!
//! **Decision: rows and heads are the vector lanes.** Every row and head is an independent
//! attention, so they lie side by side: a key or value is a slot, `[block][feature][16 lanes]` with
//! lane `head * rows + row`, the lanes padded to whole blocks of [`PAD`]. No sum ever runs across a
//! register, softmax needs no shuffles, every stream is contiguous, and a lane's bits do not know
//! the batch it sits in. The price is a small transpose where a row-major activation enters or
//! leaves.
//!
//! **Decision: keys and values pull their adjoints.** A query keeps what it sends back ([`Sent`]);
//! a position sums what later queries sent it when its own turn comes ([`Credit`]), the latest
//! first. Pushing to all positions at every query gives the same sums and writes twice what this
//! reads. Which queries count is the caller's choice, made per position. The kernel does not know
//! why.
mod credit;
mod lanes;
mod passes;
mod softmax;
mod stack;

pub use credit::{Credit, Sent, Side, spread_credit};
pub use lanes::{Leave, leave_slot};
pub use stack::{Cache, Stack};

use crate::vectors::{self, Vectors, Work};
use crate::{Isa, Real};
use lanes::{Place, enter, leave};
use passes::{mix, scores};
use softmax::{softmax, softmax_adjoint};

/// Lanes are padded to a multiple of this, on every machine.
pub const PAD: usize = 16;

/// Neighbouring positions whose sums over later queries are taken together: their sums for as many
/// features fill half of the registers of AVX-512.
pub const NEIGHBOURS: usize = 4;

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

    /// Elements of one query's probabilities, `[position][lane]`.
    pub fn probability_len(&self) -> usize {
        self.capacity * self.lanes()
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

/// One query per row against the cache.
pub struct Attend<'a, R> {
    /// The shape of the attention.
    pub shape: Shape,
    /// What the query reads.
    pub reads: Reads<'a>,
    /// From one row of `q` and `out` to the next.
    pub stride: usize,
    /// The query, in rows.
    pub q: &'a [R],
    /// Where it is kept for the adjoint: at `query` of `queries`.
    pub queries: &'a mut Stack<R>,
    /// See `queries`.
    pub query: usize,
    /// Keys and values.
    pub cache: &'a Cache<R>,
    /// `[position][lane]`, kept for the adjoint.
    pub probabilities: &'a mut [R],
    /// What was read, in rows.
    pub out: &'a mut [R],
    /// [`Shape::slot_len`] numbers.
    pub scratch: &'a mut [R],
}

impl<R: Real> Work<R> for Attend<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        let Self { shape, reads, stride, queries, query, probabilities: p, cache, .. } = self;
        let mixed = &mut self.scratch[..shape.slot_len()];
        let scale = R::ONE / R::from_f64(shape.dim as f64).sqrt();
        enter(v, shape, queries.place(query), stride, self.q, queries.data_mut());
        scores(v, shape, reads, (queries, query), &cache.keys, p);
        softmax(shape.lanes(), reads, scale, p);
        mix(v, shape, reads, p, &cache.values, mixed);
        leave(v, shape, Place::ALONE, stride, Leave::Store, mixed, self.out);
    }
}

/// The adjoint of [`Attend`].
pub struct AttendAdjoint<'a, R> {
    /// The shape of the attention.
    pub shape: Shape,
    /// What the query read.
    pub reads: Reads<'a>,
    /// From one row of `dout` and `dq` to the next.
    pub stride: usize,
    /// Keys and values.
    pub cache: &'a Cache<R>,
    /// The query's, `[position][lane]`.
    pub probabilities: &'a [R],
    /// The adjoint of what was read, in rows.
    pub dout: &'a [R],
    /// The adjoint of the query, in rows, left there as `how` says.
    pub dq: &'a mut [R],
    /// See `dq`.
    pub how: Leave<R>,
    /// What keys and values will receive is kept at `query` of `sent`.
    pub sent: &'a mut Sent<R>,
    /// See `sent`.
    pub query: usize,
    /// [`Shape::slot_len`] numbers.
    pub scratch: &'a mut [R],
}

impl<R: Real> Work<R> for AttendAdjoint<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        let Self { shape, reads, stride, query, probabilities: p, cache, .. } = self;
        let dq = &mut self.scratch[..shape.slot_len()];
        let Sent { outs, scores: ds } = self.sent;
        let len = shape.probability_len();
        let ds = &mut ds[query * len..][..len];
        let scale = R::ONE / R::from_f64(shape.dim as f64).sqrt();
        enter(v, shape, outs.place(query), stride, self.dout, outs.data_mut());
        scores(v, shape, reads, (outs, query), &cache.values, ds);
        softmax_adjoint(shape.lanes(), reads, scale, p, ds);
        mix(v, shape, reads, ds, &cache.keys, dq);
        leave(v, shape, Place::ALONE, stride, self.how, dq, self.dq);
    }
}

/// Runs one query per row.
pub fn attend<R: Real>(isa: Isa, call: Attend<'_, R>) {
    vectors::run(isa, call);
}

/// Runs the adjoint of one query per row.
pub fn attend_adjoint<R: Real>(isa: Isa, call: AttendAdjoint<'_, R>) {
    vectors::run(isa, call);
}
