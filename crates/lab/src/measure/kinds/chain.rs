//! Gains of the physical chain: how far a disturbance of a state grows in `k` closed-loop steps.
//!
//! `q_{t,k} = |D_t Q_{t,k} D_{t-k}^-1|_2` with `Q_{t,k} = A_{t-1} ... A_{t-k}`,
//! `A_j = ds_{j+1}/ds_j` the closed loop's Jacobian with memory detached, and `D` the system's own
//! units. All `A_j` come from one backward with one lane per state entry; products and norms are
//! formed in `f64`.

use backcut_engine::{Model, Rollout, StateJacobians};
use backcut_kernels::Real;
use backcut_stats::quantile::quantiles;
use backcut_systems::System;

use crate::measure::define::{Definition, define};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::groups::ALL;
use crate::measure::kinds::gradient::windows;
use crate::measure::rig::Rig;
use crate::measure::spectral::norm2;
use crate::measure::subject::Subject;

/// What its quantities are.
pub(crate) const DEFINITIONS: &[Definition] = &[
    define(
        "chain",
        "chain.gain.median",
        "median over t and trajectories of q = |D_t A_{t-1} ... A_{t-k} D_{t-k}^-1|_2, A_j = \
         ds_{j+1}/ds_j, memory detached",
    ),
    define("chain", "chain.gain.p95", "95th percentile of the same"),
    define("chain", "chain.gain.max", "maximum of the same"),
    define(
        "chain",
        "chain.growth.median",
        "median over trajectories of max_k q_{t,k} / q_{t,1}, at t = T or (all) the largest over t",
    ),
    define("chain", "chain.growth.p95", "95th percentile of the same"),
    define("chain", "chain.growth.max", "maximum of the same"),
];

/// How much of the chain to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChainOptions {
    /// Batches whose trajectories are pooled: the next one and those after it.
    pub windows: usize,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self { windows: 1 }
    }
}

/// All gains of one trajectory.
#[derive(Clone, PartialEq, Debug)]
pub struct ChainGains {
    /// First step with a gradient.
    pub first: usize,
    /// Steps of the rollout: the last `t`.
    pub last: usize,
    /// `[t - first - 1][k - 1]`
    of_end: Vec<Vec<f64>>,
}

impl ChainGains {
    /// `q_{t,k}`; `None` outside `first < t <= last`, `1 <= k <= t - first`.
    pub fn at(&self, t: usize, k: usize) -> Option<f64> {
        self.of_end.get(t.checked_sub(self.first + 1)?)?.get(k.checked_sub(1)?).copied()
    }

    /// `max_k q_{t,k} / q_{t,1}` of one end; `None` where `q_{t,1}` is zero.
    fn growth(&self, t: usize) -> Option<f64> {
        let gains = self.of_end.get(t.checked_sub(self.first + 1)?)?;
        let first = *gains.first()?;
        let largest = gains.iter().copied().fold(0.0, f64::max);
        (first > 0.0).then(|| largest / first)
    }
}

/// The gains of every trajectory of a rollout.
pub fn chain_gains<R: Real>(
    system: &dyn System<R>,
    model: &Model<R>,
    rollout: &Rollout<R>,
) -> Result<Vec<ChainGains>, MeasureError> {
    if rollout.program().states().is_empty() {
        let what = "the program has no physical state, so there is no chain to measure";
        return Err(MeasureError::Unfit(what.to_owned()));
    }
    let jacobians = StateJacobians::new(model, rollout)?;
    let dim = jacobians.dim;
    let (first, last) = (rollout.spec().prefix, rollout.steps());
    let mut gains = Vec::with_capacity(rollout.rows());
    let (mut product, mut scratch) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
    for row in 0..rollout.rows() {
        let mut scales = vec![vec![1.0; dim]; last + 1];
        for (t, scales) in scales.iter_mut().enumerate() {
            system.state_scales(rollout, t, row, scales);
        }
        let of_end = |t: usize| {
            product.fill(0.0);
            product.iter_mut().step_by(dim + 1).for_each(|d| *d = 1.0);
            let back = (first..t).rev().map(|j| {
                multiply(&product, jacobians.at(j, row), dim, &mut scratch);
                product.copy_from_slice(&scratch);
                for (i, entry) in scratch.iter_mut().enumerate() {
                    *entry *= scales[t][i / dim] / scales[j][i % dim];
                }
                norm2(&scratch, dim)
            });
            back.collect()
        };
        let of_end: Vec<Vec<f64>> = (first + 1..=last).map(of_end).collect();
        if of_end.iter().flatten().any(|gain| !gain.is_finite()) {
            let what = format!("a chain gain of trajectory {row} is not finite");
            return Err(MeasureError::Unfit(what));
        }
        gains.push(ChainGains { first, last, of_end });
    }
    Ok(gains)
}

/// `out = a b`
fn multiply<R: Real>(a: &[f64], b: &[R], dim: usize, out: &mut [f64]) {
    out.fill(0.0);
    for (a, out) in a.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
        for (a, b) in a.iter().zip(b.chunks_exact(dim)) {
            for (out, b) in out.iter_mut().zip(b) {
                *out += a * b.to_f64();
            }
        }
    }
}

/// Measures the chain at a subject: gains by depth, and how much they grow.
pub fn chain(
    rig: &mut Rig<f32>,
    subject: &Subject,
    options: &ChainOptions,
) -> Result<Vec<Finding>, MeasureError> {
    rig.set(&subject.state.params)?;
    let mut gains = Vec::new();
    for key in windows(subject.key, options.windows) {
        rig.roll(key)?;
        gains.extend(chain_gains(rig.system(), rig.model(), rig.rollout())?);
    }
    let Some(ChainGains { first, last, .. }) = gains.first() else { return Ok(Vec::new()) };
    let (first, last) = (*first, *last);
    let mut findings = Vec::new();
    for k in 1..=last - first {
        let values = gains.iter().flat_map(|g| (first + k..=last).filter_map(move |t| g.at(t, k)));
        let part = format!("k={k}");
        findings.extend(spread("chain.gain", &part, values.collect()));
    }
    let at_end = gains.iter().filter_map(|g| g.growth(last)).collect();
    findings.extend(spread("chain.growth", "t=T", at_end));
    let anywhere = gains
        .iter()
        .filter_map(|g| (first + 1..=last).filter_map(|t| g.growth(t)).reduce(f64::max));
    findings.extend(spread("chain.growth", ALL, anywhere.collect()));
    Ok(findings)
}

/// Median, 95th percentile and maximum.
fn spread(quantity: &str, part: &str, mut values: Vec<f64>) -> [Finding; 3] {
    let names = ["median", "p95", "max"].map(|name| format!("{quantity}.{name}"));
    if values.is_empty() {
        return names.map(|n| Finding::undefined(&n, "", part, "the one-step gain is zero"));
    }
    let found = quantiles(&mut values, &[0.5, 0.95, 1.0]);
    let mut found = found.into_iter();
    names.map(|n| Finding::new(&n, "", part, found.next().unwrap_or_default()))
}
