//! The functions of one argument. A new one is one block of the table below: everything else
//! derives from it.
//!
//! A block says the function's *value* and its *slope*, from which the kernels for rows and for
//! columns are compiled; the slope's closure leaves out (`_`) what it does not read, and only what
//! it reads is kept for the backward. The *reference* has value and slope once more in `f64`, by
//! the standard library and another formula where there is one: plain data for whoever checks the
//! kernels, who must not share their code. A *drift* is a bounded, smooth use of the function by
//! which random programs draw it; those without one are part of every program anyway. New blocks go
//! to the end, or the programs of old seeds change more than they must.

use std::f64::consts::{PI, TAU};

use backcut_kernels::elementwise::{AnyUnary, UnaryFunction, UnaryLoop, UnaryReads};

use super::Drift;
use crate::trace::Var;

// `Real` is not in scope, so that no reference can call a kernel's function of an `f64` by
// accident.

macro_rules! functions {
    ($(
        #[$doc:meta]
        $name:ident: $label:literal $(, fn $method:ident)? {
            value: |$x:ident| $value:expr,
            slope: |$sx:tt, $sy:tt| $slope:expr,
            reference: |$o:ident| $reference:expr,
            $(drift: |$dx:tt, $db:tt| $drift:expr,)?
        }
    )*) => {
        /// A function of one argument, applied to every element.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Function { $(#[$doc] $name,)* }

        $(
            struct $name;

            impl UnaryFunction for $name {
                const READS: UnaryReads =
                    UnaryReads { x: functions!(@reads $sx), y: functions!(@reads $sy) };
                #[inline(always)]
                fn value<R: backcut_kernels::Real>($x: R) -> R { $value }
                #[inline(always)]
                fn slope<R: backcut_kernels::Real>($sx: R, $sy: R) -> R { $slope }
            }
        )*

        impl AnyUnary for Function {
            #[inline(always)]
            fn choose<L: UnaryLoop>(self, body: L) {
                match self { $(Self::$name => body.run::<$name>(),)* }
            }
        }

        impl Function {
            /// What users see in messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            pub(crate) fn reads(self) -> UnaryReads {
                match self { $(Self::$name => $name::READS,)* }
            }

            /// Value and slope by the standard library.
            pub fn reference(self, x: f64) -> [f64; 2] {
                match self { $(Self::$name => { let $o = x; $reference })* }
            }
        }

        /// How random programs draw functions.
        pub(crate) const DRIFTS: &[Drift] = &[$($(|$dx, $db| $drift,)?)*];

        impl Var<'_> {
            $($(#[$doc]
            pub fn $method(self) -> Self { self.apply(Function::$name) })?)*
        }
    };
    (@reads _) => { false };
    (@reads $name:ident) => { true };
}

functions! {
    /// sin(x)
    Sin: "sin", fn sin {
        value: |x| x.sin(),
        slope: |x, _| x.cos(),
        reference: |x| [x.sin(), x.cos()],
        drift: |x, _| x.sin(),
    }
    /// cos(x)
    Cos: "cos", fn cos {
        value: |x| x.cos(),
        slope: |x, _| -x.sin(),
        reference: |x| [x.cos(), -x.sin()],
        drift: |x, _| x.cos(),
    }
    /// 1 / x
    Recip: "recip", fn recip {
        value: |x| R::ONE / x,
        slope: |_, y| -(y * y),
        reference: |x| [1.0 / x, -1.0 / (x * x)],
        drift: |x, _| x / (x.square() + 2.0),
    }
    /// e^x
    Exp: "exp", fn exp {
        value: |x| x.exp(),
        slope: |_, y| y,
        reference: |x| [x.exp(), x.exp()],
        drift: |_, bounded| (bounded * 0.7).exp(),
    }
    /// tan(x)
    Tan: "tan", fn tan {
        value: |x| x.tan(),
        slope: |_, y| y.mul_add(y, R::ONE),
        reference: |x| [x.tan(), x.cos().powi(-2)],
        drift: |_, bounded| (bounded * 0.8).tan(),
    }
    /// sqrt(x)
    Sqrt: "sqrt", fn sqrt {
        value: |x| x.sqrt(),
        slope: |_, y| R::from_f64(0.5) / y,
        reference: |x| [x.sqrt(), 0.5 / x.sqrt()],
        drift: |x, _| (x.square() + 1.0).sqrt().recip(),
    }
    /// ln(x)
    Ln: "ln", fn ln {
        value: |x| x.ln(),
        slope: |x, _| R::ONE / x,
        reference: |x| [x.ln(), 1.0 / x],
        drift: |x, _| (x.square() + 1.5).ln() * 0.5,
    }
    /// atanh(x)
    Atanh: "atanh", fn atanh {
        value: |x| x.atanh(),
        slope: |x, _| R::ONE / (R::ONE - x * x),
        reference: |x| [x.atanh(), 1.0 / ((1.0 - x) * (1.0 + x))],
        drift: |_, bounded| (bounded * 0.6).atanh(),
    }
    /// sin(x) / x, by its even series for |x| < 1e-1
    SinRatio: "sin ratio", fn sin_ratio {
        value: |x| sin_ratio(x),
        slope: |x, y| sin_ratio_slope(x, y),
        reference: |x| plain_sin_ratio(x),
        drift: |x, _| x.sin_ratio(),
    }
    /// atanh(x) / x, by its even series for |x| < 1e-3
    AtanhRatio: "atanh ratio", fn atanh_ratio {
        value: |x| atanh_ratio(x),
        slope: |x, y| atanh_ratio_slope(x, y),
        reference: |x| plain_atanh_ratio(x),
        drift: |_, bounded| (bounded * 0.6).atanh_ratio(),
    }
    /// 1 / (1 + e^-x)
    Sigmoid: "sigmoid", fn sigmoid {
        value: |x| x.sigmoid(),
        slope: |_, y| y * (R::ONE - y),
        reference: |x| [plain_sigmoid(x), plain_sigmoid(x) * plain_sigmoid(-x)],
        drift: |x, _| x.sigmoid(),
    }
    /// -x
    Neg: "neg" {
        value: |x| -x,
        slope: |_, _| -R::ONE,
        reference: |x| [-x, -1.0],
        drift: |x, bounded| -bounded * x.column(0).cos(),
    }
    /// x^2
    Square: "square", fn square {
        value: |x| x * x,
        slope: |x, _| x + x,
        reference: |x| [x * x, 2.0 * x],
    }
    /// tanh(x)
    Tanh: "tanh", fn tanh {
        value: |x| x.tanh(),
        slope: |_, y| R::ONE - y * y,
        reference: |x| [x.tanh(), x.cosh().powi(-2)],
    }
    /// What of x lies beyond [-1, 1]; exactly zero inside
    Excess: "excess", fn excess {
        value: |x| excess(x),
        slope: |x, _| if x.abs() > R::ONE { R::ONE } else { R::ZERO },
        reference: |x| [x - x.clamp(-1.0, 1.0), f64::from(x.abs() > 1.0)],
        drift: |_, bounded| bounded.excess() + (bounded + 2.2).excess() * 0.4,
    }
    /// x, a turn further on or back where it lies beyond -pi or pi
    OneTurn: "one turn", fn one_turn {
        value: |x| one_turn(x),
        slope: |_, _| R::ONE,
        reference: |x| [plain_one_turn(x), 1.0],
        drift: |_, bounded| (bounded + 4.3).one_turn() * 0.3 + bounded.one_turn() * 0.1,
    }
    /// max(x, 0)
    Relu: "relu", fn relu {
        value: |x| if x > R::ZERO { x } else { R::ZERO },
        slope: |x, _| if x > R::ZERO { R::ONE } else { R::ZERO },
        reference: |x| [x.max(0.0), f64::from(x > 0.0)],
        drift: |_, bounded| (bounded + 1.5).relu() * 0.4 - (bounded - 1.5).relu(),
    }
    /// |x|
    Abs: "abs", fn abs {
        value: |x| x.abs(),
        slope: |x, _| sign(x),
        reference: |x| [x.abs(), if x == 0.0 { 0.0 } else { x.signum() }],
        drift: |_, bounded| (bounded - 1.5).abs() * 0.5,
    }
    /// ln(1 + e^x)
    Softplus: "softplus", fn softplus {
        value: |x| softplus(x),
        slope: |x, _| x.sigmoid(),
        reference: |x| [x.max(0.0) + (-x.abs()).exp().ln_1p(), plain_sigmoid(x)],
        drift: |_, bounded| bounded.softplus(),
    }
    /// 1 where x is above zero, else 0; it has no derivative
    Positive: "positive", fn positive {
        value: |x| if x > R::ZERO { R::ONE } else { R::ZERO },
        slope: |_, _| R::ZERO,
        reference: |x| [f64::from(x > 0.0), 0.0],
        drift: |_, bounded| bounded * (bounded + 1.5).positive(),
    }
}

#[inline(always)]
fn sign<R: backcut_kernels::Real>(x: R) -> R {
    let above = if x > R::ZERO { R::ONE } else { R::ZERO };
    if x < R::ZERO { -R::ONE } else { above }
}

/// max(x, 0) + ln(1 + e^-|x|): nothing overflows.
#[inline(always)]
fn softplus<R: backcut_kernels::Real>(x: R) -> R {
    let above = if x > R::ZERO { x } else { R::ZERO };
    above + (R::ONE + (-x.abs()).exp()).ln()
}

// A rhumb line on the sphere needs `atanh(z) / z` and `sin(h) / h` where the direct quotients lose
// every digit.

#[inline(always)]
fn atanh_ratio<R: backcut_kernels::Real>(z: R) -> R {
    let s = z * z;
    let c = R::from_f64;
    let series = c(1.0 / 7.0).mul_add(s, c(0.2)).mul_add(s, c(1.0 / 3.0)).mul_add(s, R::ONE);
    let small = z.abs() < c(1e-3);
    let safe = if small { c(0.5) } else { z };
    let quotient = safe.atanh() / safe;
    if small { series } else { quotient }
}

/// d/dz (atanh(z)/z) = (1/(1-z^2) - atanh(z)/z) / z; series 2z/3 + 4z^3/5 + 6z^5/7.
#[inline(always)]
fn atanh_ratio_slope<R: backcut_kernels::Real>(z: R, value: R) -> R {
    let s = z * z;
    let c = R::from_f64;
    let small = z.abs() < c(5e-2);
    let series = z * c(10.0 / 11.0)
        .mul_add(s, c(8.0 / 9.0))
        .mul_add(s, c(6.0 / 7.0))
        .mul_add(s, c(0.8))
        .mul_add(s, c(2.0 / 3.0));
    let safe = if small { c(0.5) } else { z };
    let direct = (R::ONE / (R::ONE - s) - value) / safe;
    if small { series } else { direct }
}

#[inline(always)]
fn sin_ratio<R: backcut_kernels::Real>(h: R) -> R {
    let s = h * h;
    let c = R::from_f64;
    let series = c(1.0 / 362_880.0)
        .mul_add(s, c(-1.0 / 5_040.0))
        .mul_add(s, c(1.0 / 120.0))
        .mul_add(s, c(-1.0 / 6.0))
        .mul_add(s, R::ONE);
    let small = h.abs() < c(1e-1);
    let safe = if small { R::ONE } else { h };
    let quotient = safe.sin() / safe;
    if small { series } else { quotient }
}

/// d/dh (sin(h)/h) = (cos(h) - sin(h)/h) / h; series -h/3 + h^3/30 - h^5/840 + h^7/45360.
#[inline(always)]
fn sin_ratio_slope<R: backcut_kernels::Real>(h: R, value: R) -> R {
    let s = h * h;
    let c = R::from_f64;
    let small = h.abs() < c(2e-1);
    let series = h * c(-1.0 / 3_991_680.0)
        .mul_add(s, c(1.0 / 45_360.0))
        .mul_add(s, c(-1.0 / 840.0))
        .mul_add(s, c(1.0 / 30.0))
        .mul_add(s, c(-1.0 / 3.0));
    let safe = if small { R::ONE } else { h };
    let direct = (safe.cos() - value) / safe;
    if small { series } else { direct }
}

#[inline(always)]
fn excess<R: backcut_kernels::Real>(x: R) -> R {
    let (above, below) = (x - R::ONE, x + R::ONE);
    let high = if above > R::ZERO { above } else { R::ZERO };
    if below < R::ZERO { below } else { high }
}

#[inline(always)]
fn one_turn<R: backcut_kernels::Real>(x: R) -> R {
    let (pi, turn) = (R::from_f64(PI), R::from_f64(TAU));
    let back = if x > pi { x - turn } else { x };
    if x < -pi { x + turn } else { back }
}

fn plain_one_turn(x: f64) -> f64 {
    if x.abs() > PI { x - TAU.copysign(x) } else { x }
}

fn plain_sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// atanh(x)/x = sum of x^2n / (2n+1), by that series near zero where the quotient loses digits.
fn plain_atanh_ratio(x: f64) -> [f64; 2] {
    if x.abs() < 0.1 {
        return even_series(x, |n| 1.0 / (2.0 * n + 1.0));
    }
    let value = x.atanh() / x;
    [value, (1.0 / (1.0 - x * x) - value) / x]
}

/// sin(x)/x = sum of (-1)^n x^2n / (2n+1)!, by that series near zero.
fn plain_sin_ratio(x: f64) -> [f64; 2] {
    if x.abs() < 0.5 {
        let mut coefficient = 1.0;
        return even_series(x, |n| {
            if n > 0.0 {
                coefficient /= -(2.0 * n) * (2.0 * n + 1.0);
            }
            coefficient
        });
    }
    let value = x.sin() / x;
    [value, (x.cos() - value) / x]
}

/// The sum of c(n) x^2n and its slope, the sum of 2n c(n) x^(2n-1).
fn even_series(x: f64, mut coefficient: impl FnMut(f64) -> f64) -> [f64; 2] {
    let (mut value, mut slope) = (coefficient(0.0), 0.0);
    for n in 1..=12 {
        let c = coefficient(f64::from(n));
        value += c * x.powi(2 * n);
        slope += f64::from(2 * n) * c * x.powi(2 * n - 1);
    }
    [value, slope]
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ValueAndSlope<'a> {
        x: f64,
        found: &'a mut [f64; 2],
    }

    impl UnaryLoop for ValueAndSlope<'_> {
        fn run<F: UnaryFunction>(self) {
            let y = F::value(self.x);
            *self.found = [y, F::slope(self.x, y)];
        }
    }

    #[test]
    fn pieces_agree_with_their_references_beyond_their_ends() {
        let pieces = [Function::Excess, Function::OneTurn, Function::Relu, Function::Abs];
        for function in pieces.into_iter().chain([Function::Positive]) {
            for x in [0.0, -4.5, -3.2, -1.5, -0.5, 1.0, 1.5, 3.1, 3.2, 6.0] {
                let mut found = [f64::NAN; 2];
                function.choose(ValueAndSlope { x, found: &mut found });
                assert_eq!(found, function.reference(x), "{} at {x}", function.name());
            }
        }
    }

    #[test]
    fn every_function_agrees_with_its_reference() {
        for function in Function::ALL {
            // On both sides of where series take over from quotients.
            for x in [5e-4, 0.04, 0.06, 0.09, 0.15, 0.3, 0.8] {
                let mut found = [f64::NAN; 2];
                function.choose(ValueAndSlope { x, found: &mut found });
                for (found, expected) in found.into_iter().zip(function.reference(x)) {
                    let error = (found - expected).abs() / expected.abs().max(1.0);
                    assert!(error < 1e-11, "{} at {x}: {found}, not {expected}", function.name());
                }
            }
        }
    }
}
