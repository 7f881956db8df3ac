//! Arithmetic on batch lanes: unary and binary functions, column movement, and their adjoints.
//!
//! An operation lives in one place: value and derivative stand side by side (`functions`). Adjoint kernels add to
//! their target if `accumulate`, and store otherwise (the first contribution needs no zero fill).

mod functions;

pub use functions::{Binary, Operand, Unary};
pub(crate) use functions::{slope_of, unary_of, unary_slope};

use crate::Real;
use crate::isa::dispatch;
use crate::reduce;

#[inline(always)]
fn put<R: Real>(target: &mut R, value: R, accumulate: bool) {
    *target = if accumulate { *target + value } else { value };
}

#[inline(always)]
fn map<R: Real>(x: &[R], out: &mut [R], f: impl Fn(R) -> R) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = f(x);
    }
}

#[inline(always)]
fn unary_body<R: Real>(op: Unary, x: &[R], out: &mut [R]) {
    unary_of!(op, |f| map(x, out, f));
}

#[inline(always)]
fn pull<R: Real>(
    x: &[R],
    y: &[R],
    dy: &[R],
    dx: &mut [R],
    accumulate: bool,
    slope: impl Fn(R, R) -> R,
) {
    let n = dx.len();
    let (x, y, dy) = (&x[..n], &y[..n], &dy[..n]);
    for i in 0..n {
        put(&mut dx[i], dy[i] * slope(x[i], y[i]), accumulate);
    }
}

#[inline(always)]
fn unary_adjoint_body<R: Real>(
    op: Unary,
    x: &[R],
    y: &[R],
    dy: &[R],
    dx: &mut [R],
    accumulate: bool,
) {
    unary_slope!(op, |slope| pull(x, y, dy, dx, accumulate, slope));
}

#[inline(always)]
fn zip<R: Real>(a: &[R], b: &[R], out: &mut [R], f: impl Fn(R, R) -> R) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        out[i] = f(a[i], b[i]);
    }
}

/// `b` has one column that serves all `width` columns of `a`.
#[inline(always)]
fn zip_column<R: Real>(width: usize, a: &[R], b: &[R], out: &mut [R], f: impl Fn(R, R) -> R) {
    for ((a, out), &b) in a.chunks_exact(width).zip(out.chunks_exact_mut(width)).zip(b) {
        for i in 0..width {
            out[i] = f(a[i], b);
        }
    }
}

#[inline(always)]
fn binary_body<R: Real>(op: Binary, a: &[R], b: &[R], out: &mut [R]) {
    match op {
        Binary::Add => zip(a, b, out, |a, b| a + b),
        Binary::Sub => zip(a, b, out, |a, b| a - b),
        Binary::Mul => zip(a, b, out, |a, b| a * b),
        Binary::Div => zip(a, b, out, |a, b| a / b),
    }
}

#[inline(always)]
fn binary_column_body<R: Real>(op: Binary, width: usize, a: &[R], b: &[R], out: &mut [R]) {
    match op {
        Binary::Add => zip_column(width, a, b, out, |a, b| a + b),
        Binary::Sub => zip_column(width, a, b, out, |a, b| a - b),
        Binary::Mul => zip_column(width, a, b, out, |a, b| a * b),
        Binary::Div => zip_column(width, a, b, out, |a, b| a / b),
    }
}

#[inline(always)]
fn binary_adjoint_body<R: Real>(
    op: Binary,
    operand: Operand,
    a: &[R],
    b: &[R],
    y: &[R],
    dy: &[R],
    d: &mut [R],
    accumulate: bool,
) {
    let n = d.len();
    let (a, b, y, dy) = (&a[..n], &b[..n], &y[..n], &dy[..n]);
    for i in 0..n {
        put(&mut d[i], dy[i] * slope_of(op, operand, a[i], b[i], y[i]), accumulate);
    }
}

/// [`reduce::accumulate`], written out for rows of up to four columns: the same partial sums, and the
/// same additions of empty ones, without the loops over all of them.
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
fn binary_column_adjoint_body<R: Real>(
    op: Binary,
    operand: Operand,
    width: usize,
    a: &[R],
    b: &[R],
    y: &[R],
    dy: &[R],
    d: &mut [R],
    accumulate: bool,
) {
    let rows = a.chunks_exact(width).zip(y.chunks_exact(width)).zip(dy.chunks_exact(width));
    for (row, (((a, y), dy), &b)) in rows.zip(b).enumerate() {
        match operand {
            Operand::First => {
                let d = &mut d[row * width..][..width];
                for i in 0..width {
                    put(&mut d[i], dy[i] * slope_of(op, operand, a[i], b, y[i]), accumulate);
                }
            }
            Operand::Second => {
                let sum = row_sum_of(width, |i, sum: R| {
                    dy[i].mul_add(slope_of(op, operand, a[i], b, y[i]), sum)
                });
                put(&mut d[row], sum, accumulate);
            }
        }
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
fn affine_adjoint_body<R: Real>(scale: &[R], dy: &[R], dx: &mut [R], accumulate: bool) {
    let width = scale.len();
    for (dy, dx) in dy.chunks_exact(width).zip(dx.chunks_exact_mut(width)) {
        for i in 0..width {
            put(&mut dx[i], dy[i] * scale[i], accumulate);
        }
    }
}

#[inline(always)]
fn columns_body<R: Real>(
    source: &[R],
    source_width: usize,
    source_start: usize,
    target: &mut [R],
    target_width: usize,
    target_start: usize,
    columns: usize,
    accumulate: bool,
) {
    let source = source.chunks_exact(source_width).map(|row| &row[source_start..][..columns]);
    let target = target.chunks_exact_mut(target_width);
    let target = target.map(|row| &mut row[target_start..][..columns]);
    let rows = source.zip(target);
    // Left to itself, the compiler calls `memcpy` for every row, however narrow.
    match columns {
        1 => narrow_columns::<R, 1>(rows, accumulate),
        2 => narrow_columns::<R, 2>(rows, accumulate),
        3 => narrow_columns::<R, 3>(rows, accumulate),
        4 => narrow_columns::<R, 4>(rows, accumulate),
        6 => narrow_columns::<R, 6>(rows, accumulate),
        _ => {
            for (source, target) in rows {
                for (target, &source) in target.iter_mut().zip(source) {
                    put(target, source, accumulate);
                }
            }
        }
    }
}

#[inline(always)]
fn narrow_columns<'a, R: Real, const N: usize>(
    rows: impl Iterator<Item = (&'a [R], &'a mut [R])>,
    accumulate: bool,
) {
    for (source, target) in rows {
        if let (Some(source), Some(target)) =
            (source.first_chunk::<N>(), target.first_chunk_mut::<N>())
        {
            *target =
                std::array::from_fn(|i| if accumulate { target[i] + source[i] } else { source[i] });
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
fn sub_tiled_adjoint_body<R: Real>(
    width: usize,
    times: usize,
    dy: &[R],
    db: &mut [R],
    accumulate: bool,
) {
    for (dy, db) in dy.chunks_exact(width * times).zip(db.chunks_exact_mut(width)) {
        if !accumulate {
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
fn row_sum_adjoint_body<R: Real>(width: usize, dy: &[R], dx: &mut [R], accumulate: bool) {
    for (dx, &dy) in dx.chunks_exact_mut(width).zip(dy) {
        for dx in dx {
            put(dx, dy, accumulate);
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
fn weighted_square_adjoint_body<R: Real>(
    weight: &[R],
    x: &[R],
    dy: &[R],
    dx: &mut [R],
    accumulate: bool,
) {
    let width = weight.len();
    let two = R::from_f64(2.0);
    for ((x, dx), &dy) in x.chunks_exact(width).zip(dx.chunks_exact_mut(width)).zip(dy) {
        for i in 0..width {
            put(&mut dx[i], dy * (two * weight[i] * x[i]), accumulate);
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
fn times_body<R: Real>(a: &[R], b: &[R], out: &mut [R], accumulate: bool) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        put(&mut out[i], a[i] * b[i], accumulate);
    }
}

dispatch! {
    /// `out = op(x)`.
    pub fn unary<R: Real>(op: Unary, x: &[R], out: &mut [R]) = unary_body;
}
dispatch! {
    /// The adjoint of a unary function's argument; `y` is its value.
    pub fn unary_adjoint<R: Real>(op: Unary, x: &[R], y: &[R], dy: &[R], dx: &mut [R], accumulate: bool) = unary_adjoint_body;
}
dispatch! {
    /// `out = a op b`, same widths.
    pub fn binary<R: Real>(op: Binary, a: &[R], b: &[R], out: &mut [R]) = binary_body;
}
dispatch! {
    /// `out = a op b` where `b` is a single column.
    pub fn binary_column<R: Real>(op: Binary, width: usize, a: &[R], b: &[R], out: &mut [R]) = binary_column_body;
}
dispatch! {
    /// The adjoint of one operand of `y = a op b`, same widths.
    pub fn binary_adjoint<R: Real>(op: Binary, operand: Operand, a: &[R], b: &[R], y: &[R], dy: &[R], d: &mut [R], accumulate: bool) = binary_adjoint_body;
}
dispatch! {
    /// The adjoint of one operand of `y = a op b` where `b` is a single column.
    pub fn binary_column_adjoint<R: Real>(op: Binary, operand: Operand, width: usize, a: &[R], b: &[R], y: &[R], dy: &[R], d: &mut [R], accumulate: bool) = binary_column_adjoint_body;
}
dispatch! {
    /// `out = x * scale + offset`, per column.
    pub fn affine<R: Real>(x: &[R], scale: &[R], offset: &[R], out: &mut [R]) = affine_body;
}
dispatch! {
    /// The adjoint of [`affine`]'s argument.
    pub fn affine_adjoint<R: Real>(scale: &[R], dy: &[R], dx: &mut [R], accumulate: bool) = affine_adjoint_body;
}
dispatch! {
    /// Copies (or adds) a range of columns of one matrix to a range of columns of another.
    pub fn columns<R: Real>(source: &[R], source_width: usize, source_start: usize, target: &mut [R], target_width: usize, target_start: usize, columns: usize, accumulate: bool) = columns_body;
}
dispatch! {
    /// `out = a - [b, b, ..., b]`, `b` repeated `times` times along the columns.
    pub fn sub_tiled<R: Real>(width: usize, times: usize, a: &[R], b: &[R], out: &mut [R]) = sub_tiled_body;
}
dispatch! {
    /// The adjoint of [`sub_tiled`]'s repeated operand.
    pub fn sub_tiled_adjoint<R: Real>(width: usize, times: usize, dy: &[R], db: &mut [R], accumulate: bool) = sub_tiled_adjoint_body;
}
dispatch! {
    /// The ordered sum of each row.
    pub fn row_sum<R: Real>(width: usize, x: &[R], out: &mut [R]) = row_sum_body;
}
dispatch! {
    /// The adjoint of [`row_sum`]'s argument.
    pub fn row_sum_adjoint<R: Real>(width: usize, dy: &[R], dx: &mut [R], accumulate: bool) = row_sum_adjoint_body;
}
dispatch! {
    /// The ordered sum of `weight[c] * x[c]^2` over each row.
    pub fn weighted_square<R: Real>(weight: &[R], x: &[R], out: &mut [R]) = weighted_square_body;
}
dispatch! {
    /// The adjoint of [`weighted_square`]'s argument.
    pub fn weighted_square_adjoint<R: Real>(weight: &[R], x: &[R], dy: &[R], dx: &mut [R], accumulate: bool) = weighted_square_adjoint_body;
}
dispatch! {
    /// `out += x`.
    pub fn add<R: Real>(x: &[R], out: &mut [R]) = add_body;
}
dispatch! {
    /// `out = a * b`, added or stored.
    pub fn times<R: Real>(a: &[R], b: &[R], out: &mut [R], accumulate: bool) = times_body;
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
