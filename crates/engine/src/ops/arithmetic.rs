//! The functions of two arguments: a table like that of `functions`, with a slope towards each operand.

use std::ops::{Add, Div, Mul, Neg, Sub};

use backcut_kernels::elementwise::{AnyBinary, BinaryFunction, BinaryLoop, BinaryReads};

use super::functions::Function;
use crate::oracle::Scalar;
use crate::trace::Var;

macro_rules! arithmetic {
    ($(
        #[$doc:meta]
        $name:ident: $label:literal {
            value: |$a:ident, $b:ident| $value:expr,
            slope_a: |$aa:tt, $ab:tt, $ay:tt| $slope_a:expr,
            slope_b: |$ba:tt, $bb:tt, $by:tt| $slope_b:expr,
            oracle: |$oa:ident, $ob:ident| $oracle:expr,
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

            /// What the slope towards each operand reads.
            pub(crate) fn reads(self) -> [BinaryReads; 2] {
                match self { $(Self::$name => $name::READS,)* }
            }

            pub(crate) fn oracle<'t>(self, a: Scalar<'t>, b: Scalar<'t>) -> Scalar<'t> {
                match self { $(Self::$name => { let ($oa, $ob) = (a, b); $oracle })* }
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
        oracle: |a, b| a + b,
        one_column_first: |one, wide| wide + one,
    }
    /// a - b
    Difference: "sub" {
        value: |a, b| a - b,
        slope_a: |_, _, _| R::ONE,
        slope_b: |_, _, _| -R::ONE,
        oracle: |a, b| a - b,
        one_column_first: |one, wide| -(wide - one),
    }
    /// a * b
    Product: "mul" {
        value: |a, b| a * b,
        slope_a: |_, b, _| b,
        slope_b: |a, _, _| a,
        oracle: |a, b| a * b,
        one_column_first: |one, wide| wide * one,
    }
    /// a / b
    Quotient: "div" {
        value: |a, b| a / b,
        slope_a: |_, b, _| R::ONE / b,
        slope_b: |_, b, y| -(y / b),
        oracle: |a, b| a / b,
        one_column_first: |one, wide| wide.recip() * one,
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

/// `x + c`, `x - c` and `x * c` are `x * scale + offset` with the same constants in all columns.
macro_rules! with_constant {
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

with_constant!(Add, add, |c| (1.0, c));
with_constant!(Sub, sub, |c| (1.0, -c));
with_constant!(Mul, mul, |c| (c, 0.0));
