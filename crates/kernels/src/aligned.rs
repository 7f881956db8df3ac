//! Numbers that begin on a cache line.
//!
//! A 64-byte register that straddles two lines costs two loads; the allocator promises 16 bytes.

use std::ops::{Deref, DerefMut};

use crate::pages::ask_for_large;

/// Bytes of a cache line.
const LINE: usize = 64;

/// A fixed number of `R` that begin on a cache line.
///
/// **Decision: slack, and an offset into it.** It needs no `unsafe`, and where the processor has no
/// opinion about lines it still holds the same numbers.
#[derive(Debug, Default)]
pub struct Aligned<R> {
    data: Vec<R>,
    start: usize,
    len: usize,
}

impl<R: Copy + Default> Aligned<R> {
    /// Numbers that fill a cache line.
    const LINE: usize = LINE / size_of::<R>();

    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut data = vec![R::default(); len + Self::LINE];
        ask_for_large(&mut data);
        let start = line_in(&data, Self::LINE);
        Self { data, start, len }
    }

    /// Heap bytes held, slack included.
    pub fn bytes(&self) -> usize {
        self.data.capacity() * size_of::<R>()
    }
}

/// The first of the leading numbers that begins a line.
fn line_in<R>(data: &[R], leading: usize) -> usize {
    // `align_offset` may decline; the numbers then begin anywhere.
    data.as_ptr().align_offset(LINE).min(leading)
}

impl<R: Clone> Clone for Aligned<R> {
    fn clone(&self) -> Self {
        let (mut data, len) = (self.data.clone(), self.len);
        let start = line_in(&data, data.len() - len);
        data[start..start + len].clone_from_slice(self);
        Self { data, start, len }
    }
}

impl<R> Deref for Aligned<R> {
    type Target = [R];

    #[inline(always)]
    fn deref(&self) -> &[R] {
        &self.data[self.start..self.start + self.len]
    }
}

impl<R> DerefMut for Aligned<R> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [R] {
        &mut self.data[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_on_a_line_also_in_a_copy() {
        for len in [0, 1, 7, 16, 1000] {
            let mut one = Aligned::<f32>::zeros(len);
            one.iter_mut().zip(0u16..).for_each(|(x, i)| *x = f32::from(i));
            let two = one.clone();
            for buffer in [&one, &two] {
                assert_eq!(buffer.as_ptr().addr() % LINE, 0);
                assert_eq!(buffer.len(), len);
            }
            assert_eq!(*one, *two);
        }
    }
}
