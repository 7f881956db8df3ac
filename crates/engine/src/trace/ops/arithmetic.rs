//! The functions of two arguments: a table like that of `functions`, with a slope towards each
//! operand.

use std::ops::{Add, Div, Mul, Neg, Sub};

use backcut_kernels::elementwise::{AnyBinary, BinaryFunction, BinaryLoop, BinaryReads};

use super::functions::Function;
use crate::trace::Var;

macro_rules! arithmetic {
    ($(
        #[$doc:meta]
        $name:ident: $label:literal {
            value: |$a:ident, $b:ident| $value:expr,
            slope_a: |$aa:tt, $ab:tt, $ay:tt| $slope_a:expr,
            slope_b: |$ba:tt, $bb:tt, $by:tt| $slope_b:expr,
            reference: |$oa:ident, $ob:ident| $reference:expr,
            one_column_first: |$one:ident, $wide:ident| $swapped:expr,
        }
    )*) => {
        /// A function of two arguments of equal width, or of a wide first and a one-column second.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Arithmetic { $(#[$doc] $name,)* }

        $(
            struct $name;

            impl BinaryFunction for $name {
                const READS: [BinaryReads; 2] = [
                    arithmetic!(@reads $aa, $ab, $ay),
                    arithmetic!(@reads $ba, $bb, $by),
                ];
                #[inline(always)]
                fn value<R: backcut_kernels::Real>($a: R, $b: R) -> R { $value }
                #[inline(always)]
                fn slope_a<R: backcut_kernels::Real>($aa: R, $ab: R, $ay: R) -> R { $slope_a }
                #[inline(always)]
                fn slope_b<R: backcut_kernels::Real>($ba: R, $bb: R, $by: R) -> R { $slope_b }
            }
        )*

        impl AnyBinary for Arithmetic {
            #[inline(always)]
            fn choose<L: BinaryLoop>(self, body: L) {
                match self { $(Self::$name => body.run::<$name>(),)* }
            }
        }

        impl Arithmetic {
            /// What users see in messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// What the slope towards each operand reads.
            pub(crate) fn reads(self) -> [BinaryReads; 2] {
                match self { $(Self::$name => $name::READS,)* }
            }

            /// The value and the slope towards each operand, by the standard library.
            pub fn reference(self, a: f64, b: f64) -> [f64; 3] {
                match self { $(Self::$name => { let ($oa, $ob) = (a, b); $reference })* }
            }

            /// The same where the first operand has one column: kernels want the wide one first.
            #[track_caller]
            pub(super) fn one_column_first<'t>(self, one: Var<'t>, wide: Var<'t>) -> Var<'t> {
                match self { $(Self::$name => { let ($one, $wide) = (one, wide); $swapped })* }
            }
        }
    };
    (@reads $a:tt, $b:tt, $y:tt) => {
        BinaryReads { a: arithmetic!(@is $a), b: arithmetic!(@is $b), y: arithmetic!(@is $y) }
    };
    (@is _) => { false };
    (@is $name:ident) => { true };
}

arithmetic! {
    /// a + b
    Sum: "add" {
        value: |a, b| a + b,
        slope_a: |_, _, _| R::ONE,
        slope_b: |_, _, _| R::ONE,
        reference: |a, b| [a + b, 1.0, 1.0],
        one_column_first: |one, wide| wide + one,
    }
    /// a - b
    Difference: "sub" {
        value: |a, b| a - b,
        slope_a: |_, _, _| R::ONE,
        slope_b: |_, _, _| -R::ONE,
        reference: |a, b| [a - b, 1.0, -1.0],
        one_column_first: |one, wide| -(wide - one),
    }
    /// a * b
    Product: "mul" {
        value: |a, b| a * b,
        slope_a: |_, b, _| b,
        slope_b: |a, _, _| a,
        reference: |a, b| [a * b, b, a],
        one_column_first: |one, wide| wide * one,
    }
    /// a / b
    Quotient: "div" {
        value: |a, b| a / b,
        slope_a: |_, b, _| R::ONE / b,
        slope_b: |_, b, y| -(y / b),
        reference: |a, b| [a / b, 1.0 / b, -a / (b * b)],
        one_column_first: |one, wide| wide.recip() * one,
    }
    /// The smaller of two; of equals the first
    Smaller: "min" {
        value: |a, b| if b < a { b } else { a },
        slope_a: |a, b, _| if b < a { R::ZERO } else { R::ONE },
        slope_b: |a, b, _| if b < a { R::ONE } else { R::ZERO },
        reference: |a, b| if b < a { [b, 0.0, 1.0] } else { [a, 1.0, 0.0] },
        one_column_first: |one, wide| wide.min(one),
    }
    /// The larger of two; of equals the first
    Larger: "max" {
        value: |a, b| if b > a { b } else { a },
        slope_a: |a, b, _| if b > a { R::ZERO } else { R::ONE },
        slope_b: |a, b, _| if b > a { R::ONE } else { R::ZERO },
        reference: |a, b| if b > a { [b, 0.0, 1.0] } else { [a, 1.0, 0.0] },
        one_column_first: |one, wide| wide.max(one),
    }
}

impl<'t> Var<'t> {
    /// The smaller of two values, column by column; all credit goes to it, of equals to the first.
    #[track_caller]
    pub fn min(self, other: Var<'t>) -> Var<'t> {
        self.arithmetic(Arithmetic::Smaller, other)
    }

    /// The larger of two values, column by column; all credit goes to it, of equals to the first.
    #[track_caller]
    pub fn max(self, other: Var<'t>) -> Var<'t> {
        self.arithmetic(Arithmetic::Larger, other)
    }

    /// The value held between two numbers; no credit passes where it is held.
    #[track_caller]
    pub fn clamp(self, low: f64, high: f64) -> Var<'t> {
        if low.is_nan() || high.is_nan() || low > high {
            self.trace().fail(format!("clamp between {low} and {high}"), "the lower end first");
        }
        let end = |end| self.trace().constant(end, 1);
        self.max(end(low)).min(end(high))
    }

    /// `yes` where this value is above zero, else `no`. Neither may be infinite or no number where
    /// it is not chosen; what decides has no derivative.
    #[track_caller]
    pub fn select(self, yes: Var<'t>, no: Var<'t>) -> Var<'t> {
        let chosen = self.positive();
        yes * chosen + no * (1.0 - chosen)
    }

    /// The mean of the columns.
    #[track_caller]
    pub fn mean(self) -> Var<'t> {
        self.sum() * (1.0 / self.width() as f64)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $function:ident) => {
        impl<'t> $trait for Var<'t> {
            type Output = Var<'t>;
            #[track_caller]
            fn $method(self, other: Var<'t>) -> Var<'t> {
                self.arithmetic(Arithmetic::$function, other)
            }
        }
    };
}

operator!(Add, add, Sum);
operator!(Sub, sub, Difference);
operator!(Mul, mul, Product);
operator!(Div, div, Quotient);

impl Neg for Var<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.apply(Function::Neg)
    }
}

/// `x + c`, `c - x`, `x * c`, ... are `x * scale + offset` with the same constants in all columns.
macro_rules! with_constant {
    ($trait:ident, $method:ident, |$constant:ident| $affine:expr, $reverse:expr) => {
        impl<'t> $trait<Var<'t>> for f64 {
            type Output = Var<'t>;
            #[track_caller]
            fn $method(self, x: Var<'t>) -> Var<'t> {
                let (n, $constant) = (x.width(), self);
                let (scale, offset): (f64, f64) = $reverse;
                x.affine(&vec![scale; n], &vec![offset; n])
            }
        }
        with_constant!($trait, $method, |$constant| $affine);
    };
    ($trait:ident, $method:ident, |$constant:ident| $affine:expr) => {
        impl<'t> $trait<f64> for Var<'t> {
            type Output = Var<'t>;
            #[track_caller]
            fn $method(self, $constant: f64) -> Var<'t> {
                let n = self.width();
                let (scale, offset): (f64, f64) = $affine;
                self.affine(&vec![scale; n], &vec![offset; n])
            }
        }
    };
}

with_constant!(Add, add, |c| (1.0, c), (1.0, c));
with_constant!(Sub, sub, |c| (1.0, -c), (-1.0, c));
with_constant!(Mul, mul, |c| (c, 0.0), (c, 0.0));
with_constant!(Div, div, |c| (1.0 / c, 0.0));

impl<'t> Div<Var<'t>> for f64 {
    type Output = Var<'t>;
    #[track_caller]
    #[expect(clippy::suspicious_arithmetic_impl, reason = "the reciprocal is an instruction")]
    fn div(self, x: Var<'t>) -> Var<'t> {
        x.recip() * self
    }
}
