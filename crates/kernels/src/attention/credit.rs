//! What keys and values receive from the queries that read them.

use std::ops::Range;

use super::lanes::{Leave, Place, leave};
use super::passes::{gather, gather_neighbours, spread, weigh};
use super::{Reads, Shape, Stack};
use crate::aligned::Aligned;
use crate::vectors::{self, Vectors, Work};
use crate::{Isa, Real};

/// A key or a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// What queries are compared with.
    Key,
    /// What is mixed.
    Value,
}

/// What queries send back: the adjoints of their outputs and of their scores.
#[derive(Clone, Debug)]
pub struct Sent<R> {
    pub(super) outs: Stack<R>,
    /// `[query][position][lane]`, as probabilities are.
    pub(super) scores: Aligned<R>,
}

impl<R: Real> Sent<R> {
    /// Room for `queries` queries.
    pub fn new(shape: Shape, queries: usize) -> Self {
        let scores = Aligned::zeros(queries * shape.probability_len());
        Self { outs: Stack::new(shape, queries), scores }
    }

    /// Heap bytes held.
    pub fn bytes(&self) -> usize {
        self.outs.bytes() + self.scores.bytes()
    }
}

/// All that decides what a key or value receives.
#[derive(Clone, Copy, Debug)]
pub struct Credit<'a, R> {
    /// The shape of the attention.
    pub shape: Shape,
    /// Its queries.
    pub queries: &'a Stack<R>,
    /// Their probabilities, `[query][position][lane]`.
    pub probabilities: &'a [R],
    /// What they send back.
    pub sent: &'a Sent<R>,
}

impl<R: Real> Credit<'_, R> {
    /// Weights by query and position, and what they weigh.
    #[inline(always)]
    fn terms(&self, side: Side) -> (&[R], &Stack<R>) {
        match side {
            Side::Key => (&self.sent.scores, self.queries),
            Side::Value => (self.probabilities, &self.sent.outs),
        }
    }

    /// What the query at `position` sends to its own position, to rows that lie `stride` apart; it
    /// is at `at` of what was sent.
    pub fn own(
        &self,
        isa: Isa,
        side: Side,
        position: usize,
        at: usize,
        stride: usize,
        how: Leave<R>,
        to: &mut [R],
        scratch: &mut [R],
    ) {
        vectors::run(isa, OwnWork { credit: *self, side, position, at, stride, how, to, scratch });
    }

    /// Adds what `queries` send to `position`, the last query first, to `slot`, which
    /// [`super::leave_slot`] takes to rows.
    pub fn later(
        &self,
        isa: Isa,
        side: Side,
        position: usize,
        queries: Range<usize>,
        slot: &mut [R],
    ) {
        vectors::run(isa, LaterWork { credit: *self, side, position, queries, slot });
    }

    /// What `queries` send to each of the four positions from `first` on: the sums from which
    /// [`Credit::later`] may go on. What a query sends is read once for all four.
    pub fn later_of_neighbours(
        &self,
        isa: Isa,
        side: Side,
        first: usize,
        queries: Range<usize>,
        slots: &mut [R],
    ) {
        vectors::run(isa, NeighboursWork { credit: *self, side, first, queries, slots });
    }
}

struct OwnWork<'a, R> {
    credit: Credit<'a, R>,
    side: Side,
    position: usize,
    at: usize,
    stride: usize,
    how: Leave<R>,
    to: &'a mut [R],
    scratch: &'a mut [R],
}

impl<R: Real> Work<R> for OwnWork<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        let Self { credit, side, position, at, .. } = self;
        let (shape, lanes) = (credit.shape, credit.shape.lanes());
        let (weights, x) = credit.terms(side);
        // Scores and outputs are among what was sent; probabilities and queries are the forward's.
        let (query, place) = match side {
            Side::Key => (at, position),
            Side::Value => (position, at),
        };
        let from = query * shape.probability_len() + position * lanes;
        let slot = &mut self.scratch[..shape.slot_len()];
        weigh(v, shape, &weights[from..from + lanes], (x, place), slot);
        leave(v, shape, Place::ALONE, self.stride, self.how, slot, self.to);
    }
}

struct LaterWork<'a, R> {
    credit: Credit<'a, R>,
    side: Side,
    position: usize,
    queries: Range<usize>,
    slot: &'a mut [R],
}

impl<R: Real> Work<R> for LaterWork<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        let shape = self.credit.shape;
        let (weights, x) = self.credit.terms(self.side);
        let weights = &weights[self.position * shape.lanes()..];
        gather(v, shape, self.queries, weights, shape.probability_len(), x, self.slot);
    }
}

struct NeighboursWork<'a, R> {
    credit: Credit<'a, R>,
    side: Side,
    first: usize,
    queries: Range<usize>,
    slots: &'a mut [R],
}

impl<R: Real> Work<R> for NeighboursWork<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        let shape = self.credit.shape;
        let (weights, x) = self.credit.terms(self.side);
        let weights = &weights[self.first * shape.lanes()..];
        gather_neighbours(v, shape, self.queries, weights, shape.probability_len(), x, self.slots);
    }
}

/// Adds what one query sends to every position it reads: for a set that every query reads, which is
/// small, and whose turn comes after all of them. The query is at `query` of `queries`, what it
/// sends at `at` of `sent`.
pub fn spread_credit<R: Real>(
    isa: Isa,
    shape: Shape,
    reads: Reads,
    (queries, query): (&Stack<R>, usize),
    probabilities: &[R],
    (sent, at): (&Sent<R>, usize),
    keys: &mut Stack<R>,
    values: &mut Stack<R>,
) {
    let len = shape.probability_len();
    let scores = &sent.scores[at * len..][..len];
    let parts = [(scores, (queries, query), keys), (probabilities, (&sent.outs, at), values)];
    for (weights, x, to) in parts {
        vectors::run(isa, SpreadWork { shape, reads, weights, x, to });
    }
}

struct SpreadWork<'a, R> {
    shape: Shape,
    reads: Reads<'a>,
    weights: &'a [R],
    x: (&'a Stack<R>, usize),
    to: &'a mut Stack<R>,
}

impl<R: Real> Work<R> for SpreadWork<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        spread(v, self.shape, self.reads, self.weights, self.x, self.to);
    }
}
