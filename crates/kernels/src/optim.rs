//! The optimizer's arithmetic: global norm, clipping factor, AdamW, and other rules beside it.
//!
//! AdamW with decoupled weight decay, in this order and precision:
//! `theta <- theta - lr wd theta`; `m <- b1 m + (1-b1) g`; `v <- b2 v + (1-b2) g^2`;
//! `theta <- theta - lr (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)`.

use crate::isa::dispatch;
use crate::{Isa, Real, reduce};

pub mod history;
pub mod rule;

/// AdamW's settings, in the precision of the configuration file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Learning rate.
    pub rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay, applied to every parameter.
    pub decay: f64,
}

/// Scalars of one step, rounded once to the working precision.
#[derive(Clone, Copy, Debug)]
pub struct Step<R> {
    keep: R,
    beta1: R,
    beta1_rest: R,
    beta2: R,
    beta2_rest: R,
    rate: R,
    unbias1: R,
    unbias2: R,
    eps: R,
    factor: R,
}

impl<R: Real> Step<R> {
    /// `step` counts from 1; `factor` is the clipping factor.
    pub fn new(settings: &AdamW, step: u64, factor: R) -> Self {
        let correction = |beta: f64| 1.0 / (1.0 - power(beta, step));
        Self {
            keep: R::from_f64(1.0 - settings.rate * settings.decay),
            beta1: R::from_f64(settings.beta1),
            beta1_rest: R::from_f64(1.0 - settings.beta1),
            beta2: R::from_f64(settings.beta2),
            beta2_rest: R::from_f64(1.0 - settings.beta2),
            rate: R::from_f64(settings.rate),
            unbias1: R::from_f64(correction(settings.beta1)),
            unbias2: R::from_f64(correction(settings.beta2)),
            eps: R::from_f64(settings.eps),
            factor,
        }
    }
}

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

/// One weight's step: `(theta', m', v')`.
#[inline(always)]
fn adamw_element<R: Real>(s: &Step<R>, theta: R, m: R, v: R, g: R) -> (R, R, R) {
    let gradient = g * s.factor;
    let first = s.beta1.mul_add(m, s.beta1_rest * gradient);
    let second = s.beta2.mul_add(v, s.beta2_rest * (gradient * gradient));
    let denominator = (second * s.unbias2).sqrt() + s.eps;
    (theta * s.keep - s.rate * (first * s.unbias1) / denominator, first, second)
}

#[inline(always)]
fn adamw_body<R: Real>(s: Step<R>, theta: &mut [R], m: &mut [R], v: &mut [R], g: &[R]) {
    let n = theta.len();
    let (m, v, g) = (&mut m[..n], &mut v[..n], &g[..n]);
    for i in 0..n {
        (theta[i], m[i], v[i]) = adamw_element(&s, theta[i], m[i], v[i], g[i]);
    }
}

#[inline(always)]
fn adamw_update_body<R: Real>(
    s: Step<R>,
    theta: &[R],
    m: &[R],
    v: &[R],
    g: &[R],
    update: &mut [R],
) {
    let n = update.len();
    let (theta, m, v, g) = (&theta[..n], &m[..n], &v[..n], &g[..n]);
    for i in 0..n {
        let (after, _, _) = adamw_element(&s, theta[i], m[i], v[i], g[i]);
        update[i] = after - theta[i];
    }
}

dispatch! {
    /// [`adamw`] by prepared scalars.
    pub fn adamw_by, adamw_by_on<R: Real>(
        s: Step<R>,
        theta: &mut [R],
        m: &mut [R],
        v: &mut [R],
        g: &[R],
    ) = adamw_body;
}

dispatch! {
    /// [`adamw_update`] by prepared scalars, for one range of the parameters after the other.
    pub fn adamw_update_by, adamw_update_by_on<R: Real>(
        s: Step<R>,
        theta: &[R],
        m: &[R],
        v: &[R],
        g: &[R],
        update: &mut [R],
    ) = adamw_update_body;
}

/// One AdamW step in place. `step` counts from 1; `factor` is the clipping factor, applied to the
/// gradient on the way in so that clipping costs no pass of its own.
pub fn adamw<R: Real>(
    settings: &AdamW,
    step: u64,
    factor: R,
    theta: &mut [R],
    m: &mut [R],
    v: &mut [R],
    gradient: &[R],
) {
    adamw_by(Step::new(settings, step, factor), theta, m, v, gradient);
}

/// What [`adamw`] would add to the parameters, the float difference `theta' - theta`, without taking the
/// step: the same arithmetic, a third of the memory traffic.
pub fn adamw_update<R: Real>(
    settings: &AdamW,
    step: u64,
    factor: R,
    theta: &[R],
    m: &[R],
    v: &[R],
    gradient: &[R],
    update: &mut [R],
) {
    let scalars = Step::new(settings, step, factor);
    adamw_update_by(scalars, theta, m, v, gradient, update);
}

/// `base^exponent` by repeated squaring: `powi` is left to the platform, this is not.
pub fn power(base: f64, mut exponent: u64) -> f64 {
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
