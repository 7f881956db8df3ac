//! Keys and values of every position.

use super::Shape;
use super::lanes::Enter;
use crate::vectors;
use crate::{Isa, Real};

/// Keys and values, a slot per position.
#[derive(Clone, Debug, Default)]
pub struct Cache<R> {
    pub(super) keys: Vec<R>,
    pub(super) values: Vec<R>,
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
