//! Gradients against the optimizer's own scale: why AdamW enlarges one difference and swallows another.
//!
//! The scale of a weight is `sqrt(vhat)`, its second moment **before** the update, corrected for its bias;
//! before the first update there is none, and what needs it is undefined there. The direction of AdamW
//! is `mhat / (sqrt(vhat) + eps)` **after** the update, without weight decay. A gradient that dominates
//! both moments brings `|mhat| / sqrt(vhat)` to the limit
//! `(1 - b1) / (1 - b1^t) * sqrt((1 - b2^t) / (1 - b2))` whatever its size (1 for the betas 0.9 and 0.99 at
//! late steps, 3.2 for 0.9 and 0.999). A weight is *saturated* above 0.9 of that: a saturated direction is
//! close to the gradient's sign.

use backcut_engine::Cut;
use backcut_kernels::{Real, optim};
use backcut_training::{AdamWSettings, Moments, Optimizer, State};

use crate::finding::Finding;
use crate::groups::{ALL, Group, pooled};
use crate::layers::Layer;
use crate::rig::Rig;

const NO_HISTORY: &str = "no second moment before update 1";
/// The share of the limit of `|mhat| / sqrt(vhat)` from which a weight counts as saturated.
const SATURATED: f64 = 0.9;

/// The second moment's scale before an update, and space to take medians in.
pub(crate) struct History {
    adamw: AdamWSettings,
    parts: Vec<Group>,
    /// `sqrt(vhat)`; empty before the first update.
    root: Vec<f32>,
    bits: Vec<u32>,
}

impl History {
    pub fn new<R: Real>(state: &State<R>, optimizer: &Optimizer, groups: &[Group]) -> Self {
        let adamw = optimizer.adamw;
        let mut root = Vec::new();
        if state.moments.step > 0 {
            let unbias = unbias(adamw.beta2, state.moments.step) as f32;
            let second = state.moments.second.iter();
            root.extend(second.map(|v| (v.to_f64() as f32 * unbias).sqrt()));
        }
        let whole = Group::whole(state.params.len());
        let parts = groups.iter().cloned().chain([whole]).collect();
        Self { adamw, parts, root, bits: Vec::new() }
    }

    /// Medians of the scale itself; no cut plays a part.
    pub fn report(&self) -> Vec<Finding> {
        let mut bits = Vec::new();
        let report = |part: &Group| {
            let name = "moment.scale";
            if self.root.is_empty() {
                return Finding::undefined(name, "", &part.name, NO_HISTORY);
            }
            bits.clear();
            bits.extend(gather(part, &self.root).map(|r| r.to_bits()));
            Finding::new(name, "", &part.name, median(&mut bits))
        };
        self.parts.iter().map(report).collect()
    }

    /// rho and the moment-scaled cosine of one cut's gradient.
    pub fn compare<R: Real>(
        &mut self,
        cut: Cut,
        gradient: &[R],
        factor: f64,
        full: &[R],
    ) -> Vec<Finding> {
        if self.root.is_empty() {
            let undefined = |name: &'static str| {
                move |part: &Group| Finding::undefined(name, cut, &part.name, NO_HISTORY)
            };
            let mut findings: Vec<Finding> =
                self.parts.iter().map(undefined("rho.median")).collect();
            findings.extend(self.parts.iter().map(undefined("rho.above-one")));
            findings.push(Finding::undefined("moment.cosine", cut, ALL, NO_HISTORY));
            return findings;
        }
        let (eps, kappa) = (self.adamw.eps as f32, factor as f32);
        let mut findings = Vec::new();
        let rho = |g: &R, root: &f32| (g.to_f64() as f32 * kappa).abs() / (root + eps);
        for part in &self.parts {
            self.bits.clear();
            for range in &part.ranges {
                let pairs = gradient[range.clone()].iter().zip(&self.root[range.clone()]);
                self.bits.extend(pairs.map(|(g, root)| rho(g, root).to_bits()));
            }
            let above = self.bits.iter().filter(|b| **b > 1f32.to_bits()).count();
            let share = above as f64 / self.bits.len() as f64;
            findings.push(Finding::new("rho.median", cut, &part.name, median(&mut self.bits)));
            findings.push(Finding::new("rho.above-one", cut, &part.name, share));
        }
        let (mut own, mut other, mut dot) = (0.0, 0.0, 0.0);
        for ((a, b), root) in gradient.iter().zip(full).zip(&self.root) {
            let weight = 1.0 / f64::from(root + eps);
            let (a, b) = (a.to_f64() * weight, b.to_f64() * weight);
            own += a * a;
            other += b * b;
            dot += a * b;
        }
        let lengths = f64::sqrt(own) * f64::sqrt(other);
        findings.push(if lengths > 0.0 {
            Finding::new("moment.cosine", cut, ALL, f64::clamp(dot / lengths, -1.0, 1.0))
        } else {
            Finding::undefined("moment.cosine", cut, ALL, "a gradient is zero")
        });
        findings
    }

    /// How much AdamW's direction, after the step, is the sign of the gradient.
    pub fn directions<R: Real>(
        &self,
        layer: &str,
        cut: Cut,
        gradient: &[R],
        after: &Moments<R>,
    ) -> Vec<Finding> {
        let AdamWSettings { beta1, beta2, eps, .. } = self.adamw;
        let (first, second) = (unbias(beta1, after.step), unbias(beta2, after.step));
        let limit = (1.0 - beta1) * first / ((1.0 - beta2) * second).sqrt();
        let threshold = (SATURATED * limit) as f32;
        let (first, second, eps) = (first as f32, second as f32, eps as f32);
        let mut findings = Vec::new();
        let groups = &self.parts[..self.parts.len() - 1];
        let mut whole = Sign::default();
        let cosine = format!("{layer}.sign-cosine");
        let saturated = format!("{layer}.saturated");
        let mut report = |name: &str, sign: &Sign| {
            findings.push(match sign.cosine() {
                Some(value) => Finding::new(&cosine, cut, name, value),
                None => {
                    Finding::undefined(&cosine, cut, name, "the gradient or the direction is zero")
                }
            });
            let share = f64::from(sign.saturated) / f64::from(sign.count.max(1));
            findings.push(Finding::new(&saturated, cut, name, share));
        };
        for part in groups {
            let mut sign = Sign::default();
            for range in &part.ranges {
                let moments = after.first[range.clone()].iter().zip(&after.second[range.clone()]);
                for (g, (m, v)) in gradient[range.clone()].iter().zip(moments) {
                    let mean = m.to_f64() as f32 * first;
                    let root = (v.to_f64() as f32 * second).sqrt();
                    sign.add(g.to_f64(), mean / (root + eps), mean.abs() > threshold * root);
                }
            }
            report(&part.name, &sign);
            whole.join(&sign);
        }
        report(ALL, &whole);
        findings
    }
}

/// Sums behind the cosine between a direction and the sign of a gradient.
#[derive(Default)]
struct Sign {
    dot: f64,
    square: f64,
    nonzero: u32,
    saturated: u32,
    count: u32,
}

impl Sign {
    #[inline]
    fn add(&mut self, gradient: f64, direction: f32, is_saturated: bool) {
        let direction = f64::from(direction);
        let sign = f64::from(u8::from(gradient > 0.0)) - f64::from(u8::from(gradient < 0.0));
        self.dot += sign * direction;
        self.square += direction * direction;
        self.nonzero += u32::from(gradient != 0.0);
        self.saturated += u32::from(is_saturated);
        self.count += 1;
    }

    fn join(&mut self, other: &Self) {
        self.dot += other.dot;
        self.square += other.square;
        self.nonzero += other.nonzero;
        self.saturated += other.saturated;
        self.count += other.count;
    }

    fn cosine(&self) -> Option<f64> {
        let lengths = self.square.sqrt() * f64::from(self.nonzero).sqrt();
        (lengths > 0.0).then(|| (self.dot / lengths).clamp(-1.0, 1.0))
    }
}

/// What a placement that keeps the projections' credit adds, against the scale that the history left
/// there: the median of `|kappa (g_kept - g_dropped)| / (sqrt(vhat) + eps)`, per group and pooled over
/// blocks for `w_k` and `w_v`.
pub(crate) fn added_ratios<R: Real>(
    history: &mut History,
    rig: &Rig<R>,
    kept: usize,
    dropped: usize,
) -> Vec<Finding> {
    const NAME: &str = "added.ratio";
    let pair = format!("{} - {}", rig.cuts()[kept], rig.cuts()[dropped]);
    let eps = history.adamw.eps as f32;
    let kappa = rig.factor(kept);
    let (a, b) = (rig.vector(Layer::Raw, kept), rig.vector(Layer::Raw, dropped));
    let pools = ["w_k", "w_v"].into_iter().filter_map(|kind| pooled(rig.groups(), kind));
    let parts: Vec<Group> = rig.groups().iter().cloned().chain(pools).collect();
    let report = |part: &Group| {
        let differs = part.ranges.iter().any(|r| a[r.clone()] != b[r.clone()]);
        if !differs {
            return Finding::undefined(NAME, &pair, &part.name, "the two agree in every bit here");
        }
        if history.root.is_empty() {
            return Finding::undefined(NAME, &pair, &part.name, NO_HISTORY);
        }
        history.bits.clear();
        for range in &part.ranges {
            let pairs = a[range.clone()].iter().zip(&b[range.clone()]);
            let ratios = pairs.zip(&history.root[range.clone()]).map(|((a, b), root)| {
                ((a.to_f64() - b.to_f64()) * kappa).abs() as f32 / (root + eps)
            });
            history.bits.extend(ratios.map(f32::to_bits));
        }
        Finding::new(NAME, &pair, &part.name, median(&mut history.bits))
    };
    parts.iter().map(report).collect()
}

fn unbias(beta: f64, step: u64) -> f64 {
    1.0 / (1.0 - optim::power(beta, step))
}

fn gather<'a>(part: &'a Group, values: &'a [f32]) -> impl Iterator<Item = &'a f32> {
    part.ranges.iter().flat_map(|range| &values[range.clone()])
}

/// The median of non-negative numbers given as bit patterns, which order as the numbers do and select
/// in half the time.
fn median(bits: &mut [u32]) -> f64 {
    let (middle, is_even) = (bits.len() / 2, bits.len().is_multiple_of(2));
    let (below, &mut high, _) = bits.select_nth_unstable(middle);
    let high = f64::from(f32::from_bits(high));
    match below.iter().max() {
        Some(low) if is_even => f64::midpoint(f64::from(f32::from_bits(*low)), high),
        _ => high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_bit_patterns_are_medians() {
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(median(&mut bits(&[3.0, 0.0, 1e-9, 7.0, 2.0])), 2.0);
        assert_eq!(median(&mut bits(&[4.0, 1.0, 2.0, 8.0])), 3.0);
        assert_eq!(median(&mut bits(&[5.0])), 5.0);
    }

    #[test]
    fn a_direction_along_the_sign_has_cosine_one() {
        let mut sign = Sign::default();
        for (gradient, direction) in [(2.0, 0.5), (-3.0, -0.5), (1e-9, 0.5)] {
            sign.add(gradient, direction, false);
        }
        assert_eq!(sign.cosine(), Some(1.0));
        assert_eq!(Sign::default().cosine(), None);
    }
}
