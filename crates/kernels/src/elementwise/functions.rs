//! What a kernel must know of a function: its value and its slope, element by element.
//!
//! Which functions there are is the caller's business. A loop is compiled for one function, because
//! a choice inside the loop would keep it scalar; so a set of functions is a type whose values
//! choose *outside* the loop ([`AnyUnary`], [`AnyBinary`]). Every method below must be
//! `#[inline(always)]`: what is not inlined into a kernel's target-feature wrapper is compiled
//! without vector instructions.

use crate::Real;

/// Which numbers the slope of `y = f(x)` reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields are the letters of the type's own line")]
pub struct UnaryReads {
    pub x: bool,
    pub y: bool,
}

/// A function of one argument.
pub trait UnaryFunction {
    /// What [`UnaryFunction::slope`] reads; the other is not passed, it may not have been kept.
    const READS: UnaryReads;
    /// `f(x)`
    fn value<R: Real>(x: R) -> R;
    /// `df/dx`, given `y = f(x)`.
    fn slope<R: Real>(x: R, y: R) -> R;
}

/// One of several functions of one argument.
pub trait AnyUnary: Copy {
    /// Runs the loop compiled for this function.
    fn choose<L: UnaryLoop>(self, body: L);
}

/// A loop over elements, for any one function.
pub trait UnaryLoop {
    /// The loop.
    fn run<F: UnaryFunction>(self);
}

/// Which numbers the slope of one operand of `y = f(a, b)` reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields are the letters of the type's own line")]
pub struct BinaryReads {
    pub a: bool,
    pub b: bool,
    pub y: bool,
}

/// A function of two arguments.
pub trait BinaryFunction {
    /// What the slopes towards `a` and towards `b` read.
    const READS: [BinaryReads; 2];
    /// `f(a, b)`
    fn value<R: Real>(a: R, b: R) -> R;
    /// `df/da`, given `y = f(a, b)`.
    fn slope_a<R: Real>(a: R, b: R, y: R) -> R;
    /// `df/db`, given `y = f(a, b)`.
    fn slope_b<R: Real>(a: R, b: R, y: R) -> R;
}

/// One of several functions of two arguments.
pub trait AnyBinary: Copy {
    /// Runs the loop compiled for this function.
    fn choose<L: BinaryLoop>(self, body: L);
}

/// A loop over pairs of elements, for any one function.
pub trait BinaryLoop {
    /// The loop.
    fn run<F: BinaryFunction>(self);
}

/// Which operand of a [`BinaryFunction`] an adjoint belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// `a`
    First,
    /// `b`
    Second,
}

/// The slope towards one operand of a function.
pub(crate) trait Slope {
    const READS: BinaryReads;
    const OPERAND: Operand;
    fn of<R: Real>(a: R, b: R, y: R) -> R;
}

pub(crate) struct TowardsFirst<F>(F);
pub(crate) struct TowardsSecond<F>(F);

impl<F: BinaryFunction> Slope for TowardsFirst<F> {
    const READS: BinaryReads = F::READS[0];
    const OPERAND: Operand = Operand::First;
    #[inline(always)]
    fn of<R: Real>(a: R, b: R, y: R) -> R {
        F::slope_a(a, b, y)
    }
}

impl<F: BinaryFunction> Slope for TowardsSecond<F> {
    const READS: BinaryReads = F::READS[1];
    const OPERAND: Operand = Operand::Second;
    #[inline(always)]
    fn of<R: Real>(a: R, b: R, y: R) -> R {
        F::slope_b(a, b, y)
    }
}
