//! Between row-major activations and slots of lanes: small transposes, through registers where they
//! fit.

use super::{PAD, Shape};
use crate::vectors::{self, Square, Vectors, Work};
use crate::{Isa, Real};

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

/// A slot's place in a stack: `position` of `capacity`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub capacity: usize,
    pub position: usize,
}

impl Place {
    /// A slot on its own.
    pub const ALONE: Self = Self { capacity: 1, position: 0 };

    /// Where a lane's feature lies in the stack.
    #[inline(always)]
    pub fn at(self, shape: Shape, lane: usize, d: usize) -> usize {
        ((lane / PAD * self.capacity + self.position) * shape.dim + d) * PAD + lane % PAD
    }
}

/// Row-major `[row][head][feature]` to a slot.
pub(super) struct Enter<'a, R> {
    pub(super) shape: Shape,
    pub(super) place: Place,
    pub(super) stride: usize,
    pub(super) from: &'a [R],
    pub(super) to: &'a mut [R],
}

impl<R: Real> Work<R> for Enter<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        enter(v, self.shape, self.place, self.stride, self.from, self.to);
    }
}

/// Whether every block of lanes and sixteen features of it are a square that registers can turn.
#[inline(always)]
fn turns<R: Real, T: Vectors<R>>(shape: Shape) -> bool {
    T::TURNS && (shape.rows * shape.heads).is_multiple_of(PAD) && shape.dim.is_multiple_of(PAD)
}

/// Where the rows of a block's sixteen lanes start.
#[inline(always)]
fn starts(shape: Shape, stride: usize, block: usize) -> [usize; PAD] {
    let (mut head, mut row) = (block * PAD / shape.rows, block * PAD % shape.rows);
    let mut starts = [0; PAD];
    for start in &mut starts {
        *start = row * stride + head * shape.dim;
        row += 1;
        if row == shape.rows {
            (head, row) = (head + 1, 0);
        }
    }
    starts
}

#[inline(always)]
pub(super) fn enter<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    place: Place,
    stride: usize,
    from: &[R],
    to: &mut [R],
) {
    if !turns::<R, T>(shape) {
        return enter_small(v.narrow(), shape, place, stride, from, to);
    }
    for block in 0..shape.lanes() / PAD {
        let starts = starts(shape, stride, block);
        for d in (0..shape.dim).step_by(PAD) {
            let mut square = [v.splat(R::ZERO); PAD];
            for i in 0..PAD {
                square[i] = v.load(&from[starts[i] + d..]);
            }
            let square = v.transpose(square);
            let to = &mut to[place.at(shape, block * PAD, d)..][..PAD * PAD];
            for i in 0..PAD {
                v.store(square[i], &mut to[i * PAD..]);
            }
        }
    }
}

#[inline(always)]
fn enter_small<R: Real, N: Square<R>>(
    v: N,
    shape: Shape,
    place: Place,
    stride: usize,
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
                    square[i] = v.load(&from[(row + i) * stride + column + d..][..side]);
                }
                let square = v.transpose_small(square);
                for i in 0..side {
                    v.store(square[i], &mut to[place.at(shape, first + row, d + i)..][..side]);
                }
            }
        }
        for row in 0..shape.rows {
            let done = if row < squares.0 { squares.1 } else { 0 };
            for d in done..shape.dim {
                to[place.at(shape, first + row, d)] = from[row * stride + column + d];
            }
        }
    }
}

/// A slot back to row-major.
pub(super) struct LeaveWork<'a, R> {
    pub(super) shape: Shape,
    pub(super) place: Place,
    pub(super) stride: usize,
    pub(super) how: Leave<R>,
    pub(super) from: &'a [R],
    pub(super) to: &'a mut [R],
}

impl<R: Real> Work<R> for LeaveWork<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<T: Vectors<R>, const TALL: usize>(self, v: T) {
        leave(v, self.shape, self.place, self.stride, self.how, self.from, self.to);
    }
}

#[inline(always)]
pub(super) fn leave<R: Real, T: Vectors<R>>(
    v: T,
    shape: Shape,
    place: Place,
    stride: usize,
    how: Leave<R>,
    from: &[R],
    to: &mut [R],
) {
    if !turns::<R, T>(shape) {
        return leave_small(v.narrow(), shape, place, stride, how, from, to);
    }
    for block in 0..shape.lanes() / PAD {
        let starts = starts(shape, stride, block);
        for d in (0..shape.dim).step_by(PAD) {
            let from = &from[place.at(shape, block * PAD, d)..][..PAD * PAD];
            let mut square = [v.splat(R::ZERO); PAD];
            for i in 0..PAD {
                square[i] = v.load(&from[i * PAD..]);
            }
            let square = v.transpose(square);
            for i in 0..PAD {
                write(v, how, square[i], &mut to[starts[i] + d..]);
            }
        }
    }
}

#[inline(always)]
fn write<R: Real, T: Vectors<R>>(v: T, how: Leave<R>, lane: T::Vector, to: &mut [R]) {
    let value = match how {
        Leave::Store => lane,
        Leave::Add => v.add(v.load(to), lane),
        Leave::Scaled(factor) => v.mul_add(v.splat(factor), lane, v.load(to)),
    };
    v.store(value, to);
}

#[inline(always)]
fn leave_small<R: Real, N: Square<R>>(
    v: N,
    shape: Shape,
    place: Place,
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
                    square[i] = v.load(&from[place.at(shape, first + row, d + i)..][..side]);
                }
                let square = v.transpose_small(square);
                for i in 0..side {
                    write(v, how, square[i], &mut to[(row + i) * stride + column + d..]);
                }
            }
        }
        for row in 0..shape.rows {
            let done = if row < squares.0 { squares.1 } else { 0 };
            for d in done..shape.dim {
                let to = &mut to[row * stride + column + d];
                let value = from[place.at(shape, first + row, d)];
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
    let place = Place::ALONE;
    vectors::run(isa, LeaveWork { shape, place, stride, how, from: slot, to });
}
