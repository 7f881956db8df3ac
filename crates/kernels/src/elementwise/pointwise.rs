//! Functions of one and of two arguments, element by element, and their adjoints.

use super::{
    AnyBinary, AnyUnary, BinaryFunction, BinaryLoop, Operand, Put, Slope, TowardsFirst,
    TowardsSecond, UnaryFunction, UnaryLoop, leave, row_sum_of,
};
use crate::Real;
use crate::isa::dispatch;

struct Map<'a, R> {
    x: &'a [R],
    out: &'a mut [R],
}

impl<R: Real> UnaryLoop for Map<'_, R> {
    #[inline(always)]
    fn run<F: UnaryFunction>(self) {
        for (out, &x) in self.out.iter_mut().zip(self.x) {
            *out = F::value(x);
        }
    }
}

#[inline(always)]
fn unary_body<R: Real, U: AnyUnary>(op: U, x: &[R], out: &mut [R]) {
    op.choose(Map { x, out });
}

/// The adjoint of the argument of `y = f(x)`, to be left in `dx`.
#[expect(missing_docs, reason = "the fields are the letters of the type's own line")]
pub struct UnaryAdjoint<'a, R> {
    pub x: &'a [R],
    pub y: &'a [R],
    pub dy: &'a [R],
    pub dx: &'a mut [R],
    pub put: Put,
}

impl<R: Real> UnaryLoop for UnaryAdjoint<'_, R> {
    #[inline(always)]
    fn run<F: UnaryFunction>(self) {
        let Self { dx, put, .. } = self;
        let n = dx.len();
        let (x, y, dy) = (&self.x[..n], &self.y[..n], &self.dy[..n]);
        for i in 0..n {
            leave(&mut dx[i], dy[i] * F::slope(x[i], y[i]), put);
        }
    }
}

#[inline(always)]
fn unary_adjoint_body<R: Real, U: AnyUnary>(op: U, adjoint: UnaryAdjoint<'_, R>) {
    op.choose(adjoint);
}

/// The operands of `y = f(a, b)`: rows of `width` columns, or of one column in `b` that serves all
/// of `a`'s.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "the fields are the letters of the type's own line")]
pub struct Pair<'a, R> {
    pub width: usize,
    pub a: &'a [R],
    pub b: &'a [R],
}

struct Zip<'a, R> {
    pair: Pair<'a, R>,
    out: &'a mut [R],
}

impl<R: Real> BinaryLoop for Zip<'_, R> {
    #[inline(always)]
    fn run<F: BinaryFunction>(self) {
        let Self { pair: Pair { width, a, b }, out } = self;
        if a.len() == b.len() {
            let n = out.len();
            let (a, b) = (&a[..n], &b[..n]);
            for i in 0..n {
                out[i] = F::value(a[i], b[i]);
            }
        } else {
            for ((a, out), &b) in a.chunks_exact(width).zip(out.chunks_exact_mut(width)).zip(b) {
                for i in 0..width {
                    out[i] = F::value(a[i], b);
                }
            }
        }
    }
}

#[inline(always)]
fn binary_body<R: Real, B: AnyBinary>(op: B, pair: Pair<'_, R>, out: &mut [R]) {
    op.choose(Zip { pair, out });
}

/// The adjoint of one operand of `y = f(a, b)`, to be left in `d`.
#[expect(missing_docs, reason = "the fields are the letters of the type's own line")]
pub struct BinaryAdjoint<'a, R> {
    pub operand: Operand,
    pub pair: Pair<'a, R>,
    pub y: &'a [R],
    pub dy: &'a [R],
    pub d: &'a mut [R],
    pub put: Put,
}

impl<R: Real> BinaryLoop for BinaryAdjoint<'_, R> {
    #[inline(always)]
    fn run<F: BinaryFunction>(self) {
        match self.operand {
            Operand::First => self.towards::<TowardsFirst<F>>(),
            Operand::Second => self.towards::<TowardsSecond<F>>(),
        }
    }
}

impl<R: Real> BinaryAdjoint<'_, R> {
    #[inline(always)]
    fn towards<S: Slope>(self) {
        let Self { pair: Pair { width, a, b }, y, dy, d, put, .. } = self;
        if a.len() == b.len() {
            let n = d.len();
            let (a, b, y, dy) = (&a[..n], &b[..n], &y[..n], &dy[..n]);
            for i in 0..n {
                leave(&mut d[i], dy[i] * S::of(a[i], b[i], y[i]), put);
            }
            return;
        }
        let rows = a.chunks_exact(width).zip(y.chunks_exact(width)).zip(dy.chunks_exact(width));
        for (row, (((a, y), dy), &b)) in rows.zip(b).enumerate() {
            match S::OPERAND {
                Operand::First => {
                    let d = &mut d[row * width..][..width];
                    for i in 0..width {
                        leave(&mut d[i], dy[i] * S::of(a[i], b, y[i]), put);
                    }
                }
                Operand::Second => {
                    let slope = |i: usize, sum: R| dy[i].mul_add(S::of(a[i], b, y[i]), sum);
                    leave(&mut d[row], row_sum_of(width, slope), put);
                }
            }
        }
    }
}

#[inline(always)]
fn binary_adjoint_body<R: Real, B: AnyBinary>(op: B, adjoint: BinaryAdjoint<'_, R>) {
    op.choose(adjoint);
}

dispatch! {
    /// `out = f(x)`.
    pub fn unary<R: Real, U: AnyUnary>(op: U, x: &[R], out: &mut [R]) = unary_body;
}
dispatch! {
    /// The adjoint of a function's argument.
    pub fn unary_adjoint<R: Real, U: AnyUnary>(op: U, adjoint: UnaryAdjoint<'_, R>) = unary_adjoint_body;
}
dispatch! {
    /// `out = f(a, b)`.
    pub fn binary<R: Real, B: AnyBinary>(op: B, pair: Pair<'_, R>, out: &mut [R]) = binary_body;
}
dispatch! {
    /// The adjoint of one operand.
    pub fn binary_adjoint<R: Real, B: AnyBinary>(
        op: B,
        adjoint: BinaryAdjoint<'_, R>,
    ) = binary_adjoint_body;
}
