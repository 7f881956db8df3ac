//! The two working precisions behind one trait.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use crate::math;

/// `f32` (the working type) or `f64` (oracles and derivative checks).
///
/// The transcendental methods are this crate's own polynomials (see [`crate::math`]), never the
/// platform's: the platform's differ between machines.
///
/// There are these two and there will be no third, so the trait is sealed: kernels are compiled and
/// tested for both, and what another type would make of "the same bits" nobody could say.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + Send
    + Sync
    + 'static
    + PartialEq
    + PartialOrd
    + Debug
    + Display
    + Sum
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// `"f32"` or `"f64"`.
    const NAME: &'static str;

    /// Rounds to this precision.
    fn from_f64(x: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// The bit pattern, widened.
    fn bits(self) -> u64;
    /// `self * a + b`, rounded once.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// IEEE square root, correctly rounded on every machine.
    #[must_use]
    fn sqrt(self) -> Self;
    /// The larger value; a NaN loses against a number.
    #[must_use]
    fn maximum(self, other: Self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// e^x.
    #[must_use]
    fn exp(self) -> Self;
    /// Natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// Sine (radians).
    #[must_use]
    fn sin(self) -> Self;
    /// Cosine (radians).
    #[must_use]
    fn cos(self) -> Self;
    /// Tangent (radians).
    #[must_use]
    fn tan(self) -> Self;
    /// Hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self;
    /// Inverse hyperbolic tangent.
    #[must_use]
    fn atanh(self) -> Self;
    /// 1 / (1 + e^-x).
    #[must_use]
    fn sigmoid(self) -> Self;
}

mod sealed {
    /// Keeps [`Real`](super::Real) to this crate.
    pub trait Sealed {}
}

macro_rules! real {
    ($t:ident, $name:literal) => {
        impl sealed::Sealed for $t {}

        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NAME: &'static str = $name;

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            #[allow(clippy::useless_conversion, clippy::unnecessary_cast, clippy::cast_lossless)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            #[allow(clippy::useless_conversion)]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $t::mul_add(self, a, b)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                // `f32::max` leaves the sign of max(-0, +0) to the machine; a comparison does not.
                if self > other || other != other { self } else { other }
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                math::$t::exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                math::$t::ln(self)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                math::$t::sin(self)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                math::$t::cos(self)
            }
            #[inline(always)]
            fn tan(self) -> Self {
                math::$t::tan(self)
            }
            #[inline(always)]
            fn tanh(self) -> Self {
                math::$t::tanh(self)
            }
            #[inline(always)]
            fn atanh(self) -> Self {
                math::$t::atanh(self)
            }
            #[inline(always)]
            fn sigmoid(self) -> Self {
                math::$t::sigmoid(self)
            }
        }
    };
}

real!(f32, "f32");
real!(f64, "f64");
