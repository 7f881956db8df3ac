//! The functions of one and two arguments, each beside its slope.

use crate::Real;

/// A function of one argument, applied to every element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// -x
    Neg,
    /// x^2
    Square,
    /// 1 / x
    Recip,
    /// sqrt(x)
    Sqrt,
    /// e^x
    Exp,
    /// ln(x)
    Ln,
    /// sin(x)
    Sin,
    /// cos(x)
    Cos,
    /// tan(x)
    Tan,
    /// tanh(x)
    Tanh,
    /// atanh(x)
    Atanh,
    /// 1 / (1 + e^-x)
    Sigmoid,
    /// atanh(z) / z, by its even series for |z| < 1e-3
    AtanhRatio,
    /// sin(h) / h, by its even series for |h| < 1e-1
    SinRatio,
}

/// A function of two arguments of the same width, or of a wide one and a single column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a * b
    Mul,
    /// a / b
    Div,
}

/// Which operand of a [`Binary`] an adjoint belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// `a`
    First,
    /// `b`
    Second,
}

/// Does `$body` with `$f` bound to the function that `$op` stands for. A macro, so that every loop is
/// compiled for one function: a choice inside the loop would keep it scalar.
macro_rules! unary_of {
    ($op:expr, |$f:ident| $body:expr) => {
        match $op {
            Unary::Neg => unary_of!(@|$f| $body, |x: R| -x),
            Unary::Square => unary_of!(@|$f| $body, |x: R| x * x),
            Unary::Recip => unary_of!(@|$f| $body, |x: R| R::ONE / x),
            Unary::Sqrt => unary_of!(@|$f| $body, R::sqrt),
            Unary::Exp => unary_of!(@|$f| $body, R::exp),
            Unary::Ln => unary_of!(@|$f| $body, R::ln),
            Unary::Sin => unary_of!(@|$f| $body, R::sin),
            Unary::Cos => unary_of!(@|$f| $body, R::cos),
            Unary::Tan => unary_of!(@|$f| $body, R::tan),
            Unary::Tanh => unary_of!(@|$f| $body, R::tanh),
            Unary::Atanh => unary_of!(@|$f| $body, R::atanh),
            Unary::Sigmoid => unary_of!(@|$f| $body, R::sigmoid),
            Unary::AtanhRatio => unary_of!(@|$f| $body, $crate::ratios::atanh_ratio),
            Unary::SinRatio => unary_of!(@|$f| $body, $crate::ratios::sin_ratio),
        }
    };
    (@|$f:ident| $body:expr, $function:expr) => {{
        let $f = $function;
        $body
    }};
}
pub(crate) use unary_of;

/// The same with the slope of the function, given its argument and its value.
macro_rules! unary_slope {
    ($op:expr, |$f:ident| $body:expr) => {
        match $op {
            Unary::Neg => unary_slope!(@|$f| $body, |_: R, _: R| -R::ONE),
            Unary::Square => unary_slope!(@|$f| $body, |x: R, _: R| x + x),
            Unary::Recip => unary_slope!(@|$f| $body, |_: R, y: R| -(y * y)),
            Unary::Sqrt => unary_slope!(@|$f| $body, |_: R, y: R| R::from_f64(0.5) / y),
            Unary::Exp => unary_slope!(@|$f| $body, |_: R, y: R| y),
            Unary::Ln => unary_slope!(@|$f| $body, |x: R, _: R| R::ONE / x),
            Unary::Sin => unary_slope!(@|$f| $body, |x: R, _: R| x.cos()),
            Unary::Cos => unary_slope!(@|$f| $body, |x: R, _: R| -x.sin()),
            Unary::Tan => unary_slope!(@|$f| $body, |_: R, y: R| y.mul_add(y, R::ONE)),
            Unary::Tanh => unary_slope!(@|$f| $body, |_: R, y: R| R::ONE - y * y),
            Unary::Atanh => unary_slope!(@|$f| $body, |x: R, _: R| R::ONE / (R::ONE - x * x)),
            Unary::Sigmoid => unary_slope!(@|$f| $body, |_: R, y: R| y * (R::ONE - y)),
            Unary::AtanhRatio => unary_slope!(@|$f| $body, $crate::ratios::atanh_ratio_slope),
            Unary::SinRatio => unary_slope!(@|$f| $body, $crate::ratios::sin_ratio_slope),
        }
    };
    (@|$f:ident| $body:expr, $slope:expr) => {{
        let $f = $slope;
        $body
    }};
}
pub(crate) use unary_slope;

/// The adjoint of one operand, per element: `slope(a, b, y)`.
#[inline(always)]
pub(crate) fn slope_of<R: Real>(op: Binary, operand: Operand, a: R, b: R, y: R) -> R {
    match (op, operand) {
        (Binary::Add, _) | (Binary::Sub, Operand::First) => R::ONE,
        (Binary::Sub, Operand::Second) => -R::ONE,
        (Binary::Mul, Operand::First) => b,
        (Binary::Mul, Operand::Second) => a,
        (Binary::Div, Operand::First) => R::ONE / b,
        (Binary::Div, Operand::Second) => -(y / b),
    }
}
