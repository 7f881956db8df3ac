//! Arithmetic on batch lanes: unary and binary functions, column movement, and their adjoints.
//!
//! Kernels know loops, not functions: a function is a type of the caller's ([`UnaryFunction`],
//! [`BinaryFunction`]).

mod functions;
mod pointwise;

pub use functions::{
    AnyBinary, AnyUnary, BinaryFunction, BinaryLoop, BinaryReads, Operand, UnaryFunction,
    UnaryLoop, UnaryReads,
};
pub(crate) use functions::{Slope, TowardsFirst, TowardsSecond};
pub use pointwise::{
    BinaryAdjoint, Pair, UnaryAdjoint, binary, binary_adjoint, unary, unary_adjoint,
};

use crate::Real;
use crate::isa::dispatch;
use crate::reduce;

/// What becomes of a target: the first contribution is stored, so that nothing needs clearing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Put {
    /// `target = value`
    Store,
    /// `target += value`
    Add,
}

#[inline(always)]
fn leave<R: Real>(target: &mut R, value: R, put: Put) {
    *target = if put == Put::Add { *target + value } else { value };
}

/// [`reduce::accumulate`], written out for rows of up to four columns: the same partial sums, and
/// the same additions of empty ones, without the loops over all of them.
#[inline(always)]
fn row_sum_of<R: Real>(width: usize, fuse: impl Fn(usize, R) -> R) -> R {
    let term = |i: usize| if i < width { fuse(i, R::ZERO) + R::ZERO } else { R::ZERO };
    match width {
        2 => term(0) + term(1),
        3 => (term(0) + term(2)) + term(1),
        4 => (term(0) + term(2)) + (term(1) + term(3)),
        _ => reduce::accumulate(width, fuse),
    }
}

#[inline(always)]
fn affine_body<R: Real>(x: &[R], scale: &[R], offset: &[R], out: &mut [R]) {
    let width = scale.len();
    let offset = &offset[..width];
    for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        for i in 0..width {
            out[i] = x[i].mul_add(scale[i], offset[i]);
        }
    }
}

#[inline(always)]
fn affine_adjoint_body<R: Real>(scale: &[R], dy: &[R], dx: &mut [R], put: Put) {
    let width = scale.len();
    for (dy, dx) in dy.chunks_exact(width).zip(dx.chunks_exact_mut(width)) {
        for i in 0..width {
            leave(&mut dx[i], dy[i] * scale[i], put);
        }
    }
}

/// Columns of a matrix, from `start`; the rows are `width` long.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "the type's own line says what they are")]
pub struct Part<M> {
    pub matrix: M,
    pub width: usize,
    pub start: usize,
}

impl<M> Part<M> {
    /// The columns from the first on.
    #[inline(always)]
    pub fn whole(matrix: M, width: usize) -> Self {
        Self { matrix, width, start: 0 }
    }
}

#[inline(always)]
fn columns_body<R: Real>(n: usize, source: Part<&[R]>, target: Part<&mut [R]>, put: Put) {
    let Part { matrix, width, start } = target;
    let targets = matrix.chunks_exact_mut(width).map(|row| &mut row[start..][..n]);
    let Part { matrix, width, start } = source;
    let rows = matrix.chunks_exact(width).map(|row| &row[start..][..n]).zip(targets);
    // Left to itself, the compiler calls `memcpy` for every row, however narrow.
    match n {
        1 => narrow_columns::<R, 1>(rows, put),
        2 => narrow_columns::<R, 2>(rows, put),
        3 => narrow_columns::<R, 3>(rows, put),
        4 => narrow_columns::<R, 4>(rows, put),
        6 => narrow_columns::<R, 6>(rows, put),
        _ => {
            for (source, target) in rows {
                for (target, &source) in target.iter_mut().zip(source) {
                    leave(target, source, put);
                }
            }
        }
    }
}

#[inline(always)]
fn narrow_columns<'a, R: Real, const N: usize>(
    rows: impl Iterator<Item = (&'a [R], &'a mut [R])>,
    put: Put,
) {
    for (source, target) in rows {
        if let (Some(source), Some(target)) =
            (source.first_chunk::<N>(), target.first_chunk_mut::<N>())
        {
            let adds = put == Put::Add;
            *target = std::array::from_fn(|i| if adds { target[i] + source[i] } else { source[i] });
        }
    }
}

#[inline(always)]
fn sub_tiled_body<R: Real>(width: usize, times: usize, a: &[R], b: &[R], out: &mut [R]) {
    let wide = width * times;
    let rows = a.chunks_exact(wide).zip(b.chunks_exact(width)).zip(out.chunks_exact_mut(wide));
    for ((a, b), out) in rows {
        for (a, out) in a.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for i in 0..width {
                out[i] = a[i] - b[i];
            }
        }
    }
}

#[inline(always)]
fn sub_tiled_adjoint_body<R: Real>(width: usize, times: usize, dy: &[R], db: &mut [R], put: Put) {
    for (dy, db) in dy.chunks_exact(width * times).zip(db.chunks_exact_mut(width)) {
        if put == Put::Store {
            db.fill(R::ZERO);
        }
        for dy in dy.chunks_exact(width) {
            for i in 0..width {
                db[i] -= dy[i];
            }
        }
    }
}

#[inline(always)]
fn row_sum_body<R: Real>(width: usize, x: &[R], out: &mut [R]) {
    for (x, out) in x.chunks_exact(width).zip(out) {
        *out = row_sum_of(width, |i, sum: R| sum + x[i]);
    }
}

#[inline(always)]
fn row_sum_adjoint_body<R: Real>(width: usize, dy: &[R], dx: &mut [R], put: Put) {
    for (dx, &dy) in dx.chunks_exact_mut(width).zip(dy) {
        for dx in dx {
            leave(dx, dy, put);
        }
    }
}

#[inline(always)]
fn weighted_square_body<R: Real>(weight: &[R], x: &[R], out: &mut [R]) {
    let width = weight.len();
    for (x, out) in x.chunks_exact(width).zip(out) {
        *out = row_sum_of(width, |i, sum: R| (weight[i] * x[i]).mul_add(x[i], sum));
    }
}

#[inline(always)]
fn weighted_square_adjoint_body<R: Real>(weight: &[R], x: &[R], dy: &[R], dx: &mut [R], put: Put) {
    let width = weight.len();
    let two = R::from_f64(2.0);
    for ((x, dx), &dy) in x.chunks_exact(width).zip(dx.chunks_exact_mut(width)).zip(dy) {
        for i in 0..width {
            leave(&mut dx[i], dy * (two * weight[i] * x[i]), put);
        }
    }
}

#[inline(always)]
fn add_body<R: Real>(x: &[R], out: &mut [R]) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out += x;
    }
}

#[inline(always)]
fn times_body<R: Real>(a: &[R], b: &[R], out: &mut [R], put: Put) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        leave(&mut out[i], a[i] * b[i], put);
    }
}

dispatch! {
    /// `out = x * scale + offset`, per column.
    pub fn affine<R: Real>(x: &[R], scale: &[R], offset: &[R], out: &mut [R]) = affine_body;
}
dispatch! {
    /// The adjoint of [`affine`]'s argument.
    pub fn affine_adjoint<R: Real>(scale: &[R], dy: &[R], dx: &mut [R], put: Put) = affine_adjoint_body;
}
dispatch! {
    /// Moves `n` columns of one matrix to those of another.
    pub fn columns<R: Real>(n: usize, source: Part<&[R]>, target: Part<&mut [R]>, put: Put) = columns_body;
}
dispatch! {
    /// `out = a - [b, b, ..., b]`, `b` repeated `times` times along the columns.
    pub fn sub_tiled<R: Real>(width: usize, times: usize, a: &[R], b: &[R], out: &mut [R]) = sub_tiled_body;
}
dispatch! {
    /// The adjoint of [`sub_tiled`]'s repeated operand.
    pub fn sub_tiled_adjoint<R: Real>(
        width: usize,
        times: usize,
        dy: &[R],
        db: &mut [R],
        put: Put,
    ) = sub_tiled_adjoint_body;
}
dispatch! {
    /// The ordered sum of each row.
    pub fn row_sum<R: Real>(width: usize, x: &[R], out: &mut [R]) = row_sum_body;
}
dispatch! {
    /// The adjoint of [`row_sum`]'s argument.
    pub fn row_sum_adjoint<R: Real>(width: usize, dy: &[R], dx: &mut [R], put: Put) = row_sum_adjoint_body;
}
dispatch! {
    /// The ordered sum of `weight[c] * x[c]^2` over each row.
    pub fn weighted_square<R: Real>(weight: &[R], x: &[R], out: &mut [R]) = weighted_square_body;
}
dispatch! {
    /// The adjoint of [`weighted_square`]'s argument.
    pub fn weighted_square_adjoint<R: Real>(
        weight: &[R],
        x: &[R],
        dy: &[R],
        dx: &mut [R],
        put: Put,
    ) = weighted_square_adjoint_body;
}
dispatch! {
    /// `out += x`.
    pub fn add<R: Real>(x: &[R], out: &mut [R]) = add_body;
}
dispatch! {
    /// `out = a * b`, added or stored.
    pub fn times<R: Real>(a: &[R], b: &[R], out: &mut [R], put: Put) = times_body;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_sums_have_the_bits_of_the_ordered_sum() {
        let values = [1.0e-7_f32, 1.0, -0.3, 1.0e7, -0.0, 0.1, -1.0e7];
        for width in 1..=5 {
            for start in 0..=values.len() - width {
                let x = &values[start..start + width];
                let ordered = reduce::accumulate(width, |i, sum: f32| x[i].mul_add(0.7, sum));
                let narrow = row_sum_of(width, |i, sum: f32| x[i].mul_add(0.7, sum));
                assert_eq!(narrow.to_bits(), ordered.to_bits(), "{x:?}");
            }
        }
        let zero = |_: usize, _: f32| -0.0;
        for width in 1..=5 {
            let ordered = reduce::accumulate(width, zero);
            assert_eq!(row_sum_of(width, zero).to_bits(), ordered.to_bits());
        }
    }
}
