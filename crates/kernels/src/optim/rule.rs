//! The rules by which a clipped gradient becomes an update, each on its own stretches of the parameters.
//!
//! AdamW is the parent module's. The other two follow PyTorch's `torch.optim.Adam` and `torch.optim.SGD`
//! (without Nesterov's variant and dampening): decay is coupled, `g <- g + wd theta` after clipping.
//!
//! - Adam: then AdamW's moments and step, without its own decay.
//! - SGD: `b <- momentum b + g`; `theta <- theta - lr b`. The velocity `b` lies where Adam keeps its first
//!   moment; the second stays as it is.

use std::ops::Range;

use super::{AdamW, Step, adamw_by_on, adamw_element, adamw_update_by_on};
use crate::isa::dispatch;
use crate::{Isa, Real};

/// SGD's settings, in the precision of the configuration file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// Learning rate.
    pub rate: f64,
    /// What is kept of the velocity; 0 for plain gradient descent.
    pub momentum: f64,
    /// Coupled weight decay.
    pub decay: f64,
}

/// How a clipped gradient becomes an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Adam with decoupled weight decay.
    AdamW(AdamW),
    /// Adam with coupled weight decay.
    Adam(AdamW),
    /// Gradient descent with momentum and coupled weight decay.
    Sgd(Sgd),
}

/// A range of the flat parameters and the rule that moves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Which parameters.
    pub range: Range<usize>,
    /// What moves them.
    pub rule: Rule,
}

/// Scalars of a coupled Adam step.
#[derive(Clone, Copy, Debug)]
pub struct Coupled<R> {
    step: Step<R>,
    decay: R,
    factor: R,
}

/// Scalars of an SGD step.
#[derive(Clone, Copy, Debug)]
pub struct Descent<R> {
    rate: R,
    momentum: R,
    decay: R,
    factor: R,
}

/// A rule's scalars at one step, rounded once to the working precision.
#[derive(Clone, Copy, Debug)]
enum Prepared<R> {
    AdamW(Step<R>),
    Adam(Coupled<R>),
    Sgd(Descent<R>),
}

impl Rule {
    /// What coupled decay adds to a clipped gradient, per unit of the parameter; AdamW's is decoupled.
    pub fn coupled_decay(&self) -> f64 {
        match self {
            Self::AdamW(_) => 0.0,
            Self::Adam(adam) => adam.decay,
            Self::Sgd(sgd) => sgd.decay,
        }
    }

    /// Its learning rate.
    pub fn rate(&self) -> f64 {
        match self {
            Self::AdamW(s) | Self::Adam(s) => s.rate,
            Self::Sgd(s) => s.rate,
        }
    }

    fn prepare<R: Real>(&self, step: u64, factor: R) -> Prepared<R> {
        match *self {
            Self::AdamW(settings) => Prepared::AdamW(Step::new(&settings, step, factor)),
            Self::Adam(settings) => {
                let plain = AdamW { decay: 0.0, ..settings };
                let decay = R::from_f64(settings.decay);
                Prepared::Adam(Coupled { step: Step::new(&plain, step, R::ONE), decay, factor })
            }
            Self::Sgd(Sgd { rate, momentum, decay }) => {
                let [rate, momentum, decay] = [rate, momentum, decay].map(R::from_f64);
                Prepared::Sgd(Descent { rate, momentum, decay, factor })
            }
        }
    }
}

/// The gradient that a rule with coupled decay sees.
#[inline(always)]
fn decayed<R: Real>(decay: R, factor: R, theta: R, g: R) -> R {
    decay.mul_add(theta, g * factor)
}

#[inline(always)]
fn adam_element<R: Real>(c: &Coupled<R>, theta: R, m: R, v: R, g: R) -> (R, R, R) {
    adamw_element(&c.step, theta, m, v, decayed(c.decay, c.factor, theta, g))
}

/// One weight's step: `(theta', b')`.
#[inline(always)]
fn sgd_element<R: Real>(d: &Descent<R>, theta: R, b: R, g: R) -> (R, R) {
    let velocity = d.momentum.mul_add(b, decayed(d.decay, d.factor, theta, g));
    (theta - d.rate * velocity, velocity)
}

#[inline(always)]
fn adam_body<R: Real>(c: Coupled<R>, theta: &mut [R], m: &mut [R], v: &mut [R], g: &[R]) {
    let n = theta.len();
    let (m, v, g) = (&mut m[..n], &mut v[..n], &g[..n]);
    for i in 0..n {
        (theta[i], m[i], v[i]) = adam_element(&c, theta[i], m[i], v[i], g[i]);
    }
}

#[inline(always)]
fn adam_update_body<R: Real>(
    c: Coupled<R>,
    theta: &[R],
    m: &[R],
    v: &[R],
    g: &[R],
    update: &mut [R],
) {
    let n = update.len();
    let (theta, m, v, g) = (&theta[..n], &m[..n], &v[..n], &g[..n]);
    for i in 0..n {
        let (after, _, _) = adam_element(&c, theta[i], m[i], v[i], g[i]);
        update[i] = after - theta[i];
    }
}

#[inline(always)]
fn sgd_body<R: Real>(d: Descent<R>, theta: &mut [R], b: &mut [R], g: &[R]) {
    let n = theta.len();
    let (b, g) = (&mut b[..n], &g[..n]);
    for i in 0..n {
        (theta[i], b[i]) = sgd_element(&d, theta[i], b[i], g[i]);
    }
}

#[inline(always)]
fn sgd_update_body<R: Real>(d: Descent<R>, theta: &[R], b: &[R], g: &[R], update: &mut [R]) {
    let n = update.len();
    let (theta, b, g) = (&theta[..n], &b[..n], &g[..n]);
    for i in 0..n {
        update[i] = sgd_element(&d, theta[i], b[i], g[i]).0 - theta[i];
    }
}

#[inline(always)]
fn decayed_body<R: Real>(decay: R, factor: R, theta: &[R], g: &[R], seen: &mut [R]) {
    let n = seen.len();
    let (theta, g) = (&theta[..n], &g[..n]);
    for i in 0..n {
        seen[i] = decayed(decay, factor, theta[i], g[i]);
    }
}

dispatch! {
    /// A step of Adam with coupled decay.
    fn adam_on<R: Real>(
        c: Coupled<R>,
        theta: &mut [R],
        m: &mut [R],
        v: &mut [R],
        g: &[R],
    ) = adam_body;
}
dispatch! {
    /// What it would add.
    fn adam_update_on<R: Real>(
        c: Coupled<R>,
        theta: &[R],
        m: &[R],
        v: &[R],
        g: &[R],
        update: &mut [R],
    ) = adam_update_body;
}
dispatch! {
    /// A step of SGD.
    fn sgd_on<R: Real>(d: Descent<R>, theta: &mut [R], b: &mut [R], g: &[R]) = sgd_body;
}
dispatch! {
    /// What it would add.
    fn sgd_update_on<R: Real>(
        d: Descent<R>,
        theta: &[R],
        b: &[R],
        g: &[R],
        update: &mut [R],
    ) = sgd_update_body;
}
dispatch! {
    /// The gradient that a rule with coupled decay sees: `factor g + decay theta`.
    pub fn with_decay, with_decay_on<R: Real>(
        decay: R,
        factor: R,
        theta: &[R],
        g: &[R],
        seen: &mut [R],
    ) = decayed_body;
}

/// One step in place, stretch by stretch. `step` counts from 1; `factor` is the clipping factor.
pub fn step_on<R: Real>(
    isa: Isa,
    stretches: &[Stretch],
    step: u64,
    factor: R,
    theta: &mut [R],
    first: &mut [R],
    second: &mut [R],
    gradient: &[R],
) {
    for Stretch { range, rule } in stretches {
        let (theta, g) = (&mut theta[range.clone()], &gradient[range.clone()]);
        let (m, v) = (&mut first[range.clone()], &mut second[range.clone()]);
        match rule.prepare(step, factor) {
            Prepared::AdamW(s) => adamw_by_on(isa, s, theta, m, v, g),
            Prepared::Adam(c) => adam_on(isa, c, theta, m, v, g),
            Prepared::Sgd(d) => sgd_on(isa, d, theta, m, g),
        }
    }
}

/// What [`step_on`] would add to the parameters of `range`, `theta' - theta`, without taking the step.
/// Every vector but `update` is whole.
pub fn update_on<R: Real>(
    isa: Isa,
    stretches: &[Stretch],
    step: u64,
    factor: R,
    theta: &[R],
    first: &[R],
    second: &[R],
    gradient: &[R],
    range: Range<usize>,
    update: &mut [R],
) {
    for Stretch { range: own, rule } in stretches {
        let common = own.start.max(range.start)..own.end.min(range.end);
        if common.is_empty() {
            continue;
        }
        let update = &mut update[common.start - range.start..common.end - range.start];
        let (theta, g) = (&theta[common.clone()], &gradient[common.clone()]);
        let (m, v) = (&first[common.clone()], &second[common.clone()]);
        match rule.prepare(step, factor) {
            Prepared::AdamW(s) => adamw_update_by_on(isa, s, theta, m, v, g, update),
            Prepared::Adam(c) => adam_update_on(isa, c, theta, m, v, g, update),
            Prepared::Sgd(d) => sgd_update_on(isa, d, theta, m, g, update),
        }
    }
}
