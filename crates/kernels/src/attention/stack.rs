//! One slot of lanes per position, for all positions.

use super::lanes::{Enter, Leave, LeaveWork, Place};
use super::{PAD, Shape};
use crate::aligned::Aligned;
use crate::vectors;
use crate::{Isa, Real};

/// Keys, values, queries or their adjoints: `[block][position][feature][16 lanes]`.
///
/// Positions lie inside blocks, so a pass over positions reads memory front to back: processors
/// prefetch that, and little else.
#[derive(Clone, Debug, Default)]
pub struct Stack<R> {
    capacity: usize,
    data: Aligned<R>,
}

impl<R: Real> Stack<R> {
    /// Zeros for `capacity` positions.
    pub fn new(shape: Shape, capacity: usize) -> Self {
        Self { capacity, data: Aligned::zeros(capacity * shape.slot_len()) }
    }

    /// Heap bytes held.
    pub fn bytes(&self) -> usize {
        self.data.bytes()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.data.fill(R::ZERO);
    }

    /// Stores one key, value or query per row at `position`; row `r` is read at `r * stride`.
    pub fn put(&mut self, isa: Isa, shape: Shape, position: usize, stride: usize, from: &[R]) {
        let place = self.place(position);
        vectors::run(isa, Enter { shape, place, stride, from, to: &mut self.data });
    }

    /// Writes what `position` holds to rows that lie `stride` apart.
    pub fn leave(
        &self,
        isa: Isa,
        shape: Shape,
        position: usize,
        stride: usize,
        how: Leave<R>,
        to: &mut [R],
    ) {
        let (place, from) = (self.place(position), &*self.data);
        vectors::run(isa, LeaveWork { shape, place, stride, how, from, to });
    }

    /// Replaces what `position` holds by a donor's: row `r` receives what row `source[r]` of
    /// `donor` has there; the donor's shape may have other rows.
    pub(super) fn graft(
        &mut self,
        shape: Shape,
        donor: &Self,
        donor_shape: Shape,
        source: &[usize],
        position: usize,
    ) {
        let (place, donor_place) = (self.place(position), donor.place(position));
        for d in 0..shape.dim {
            for head in 0..shape.heads {
                for (row, &from) in source.iter().enumerate() {
                    let from = donor_place.at(donor_shape, donor_shape.lane(from, head), d);
                    let to = place.at(shape, shape.lane(row, head), d);
                    self.data[to] = donor.data[from];
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn place(&self, position: usize) -> Place {
        Place { capacity: self.capacity, position }
    }

    #[inline(always)]
    pub(super) fn data_mut(&mut self) -> &mut [R] {
        &mut self.data
    }

    /// All positions of one block of lanes.
    #[inline(always)]
    pub(super) fn block(&self, shape: Shape, block: usize) -> &[R] {
        let len = self.capacity * shape.dim * PAD;
        &self.data[block * len..][..len]
    }

    #[inline(always)]
    pub(super) fn block_mut(&mut self, shape: Shape, block: usize) -> &mut [R] {
        let len = self.capacity * shape.dim * PAD;
        &mut self.data[block * len..][..len]
    }
}

/// Keys and values of every position.
#[derive(Clone, Debug, Default)]
pub struct Cache<R> {
    pub(super) keys: Stack<R>,
    pub(super) values: Stack<R>,
}

impl<R: Real> Cache<R> {
    /// An empty cache for `shape`.
    pub fn new(shape: Shape) -> Self {
        let stack = || Stack::new(shape, shape.capacity);
        Self { keys: stack(), values: stack() }
    }

    /// Heap bytes held.
    pub fn bytes(&self) -> usize {
        self.keys.bytes() + self.values.bytes()
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
        self.keys.put(isa, shape, position, stride, key);
        self.values.put(isa, shape, position, stride, value);
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
        self.keys.graft(shape, &donor.keys, donor_shape, source, position);
        self.values.graft(shape, &donor.values, donor_shape, source, position);
    }
}
