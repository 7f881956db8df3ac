//! The optimizer's arithmetic: the global norm, the clip's factor, and the rules by which a clipped
//! gradient becomes an update ([`rule`]).

use crate::isa::dispatch;
use crate::{Isa, Real, reduce};

pub mod history;
pub mod rule;

/// The Euclidean norm of the whole gradient, in `f64` and in logical order.
pub fn global_norm<R: Real>(gradient: &[R]) -> f64 {
    global_norm_on(Isa::detect(), gradient)
}

/// [`global_norm`] on a chosen code path: the same bits.
pub fn global_norm_on<R: Real>(isa: Isa, gradient: &[R]) -> f64 {
    reduce::norm_squared_on(isa, gradient).sqrt()
}

#[inline(always)]
fn scale_body<R: Real>(factor: R, x: &mut [R]) {
    for v in x {
        *v = *v * factor;
    }
}

#[inline(always)]
fn scale_into_body<R: Real>(factor: R, x: &[R], scaled: &mut [R]) {
    for (scaled, x) in scaled.iter_mut().zip(x) {
        *scaled = *x * factor;
    }
}

dispatch! {
    /// Writes every element times `factor`: the bits of [`scale`].
    pub fn scale_into, scale_into_on<R: Real>(factor: R, x: &[R], scaled: &mut [R]) = scale_into_body;
}

dispatch! {
    /// Multiplies every element by `factor`.
    pub fn scale, scale_on<R: Real>(factor: R, x: &mut [R]) = scale_body;
}

/// Bias correction of a mean that decays by `beta`, after so many steps.
pub(crate) fn unbias(beta: f64, steps: u64) -> f64 {
    1.0 / (1.0 - power(beta, steps))
}

/// `base^exponent` by repeated squaring: `powi` is left to the platform, this is not.
fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}
