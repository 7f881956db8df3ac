//! Sums of gradients against the optimizer's memory: scaled products with FF, and AdamW's direction
//! against the sign.
//!
//! These sums run through a group in plain sequence. One of them waits for its own additions most of the
//! time, so those of all cuts run side by side, over tiles that stay in the first cache.

use backcut_engine::Cut;
use backcut_kernels::Real;
use backcut_kernels::optim::history::{self, Direction};
use backcut_kernels::reduce::add_in_sequence;
use backcut_training::{AdamWSettings, Moments};

use crate::finding::Finding;
use crate::groups::{ALL, Group};
use crate::layers::{Layer, Steps};
use crate::rig::Rig;
use crate::update_scales::{History, NO_HISTORY, unbias};

/// The share of the limit of `|mhat| / sqrt(vhat)` from which a weight counts as saturated.
const SATURATED: f64 = 0.9;
/// Weights of a tile: the terms of a dozen rows take 24 KiB.
pub(crate) const TILE: usize = 128;

/// What is summed for a cut, two sums at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    /// `|w g|^2` and `(w g) . (w g_FF)` with `w = 1 / (sqrt(vhat) + eps)`.
    Scaled,
    /// `sign(g) . d` and `|d|^2` of the direction `d` that makes a layer's update.
    Sign(Layer, Direction),
}

/// One row of terms, and its sums by group.
struct Row {
    cut: usize,
    what: What,
    terms: Vec<[f64; 2]>,
    sums: Vec<[f64; 2]>,
    /// Gradients that are not zero, and saturated weights, by group.
    counts: Vec<[u32; 2]>,
}

/// A stretch of one group's weights: what the sums look at.
pub(crate) struct Tile<'t, R> {
    /// `sqrt(vhat)`; none before the first update.
    pub root: Option<&'t [f32]>,
    /// The moments before the update.
    pub first: &'t [R],
    pub second: &'t [R],
}

/// The sums of all cuts.
pub(crate) struct Signs {
    /// The groups' names and lengths.
    groups: Vec<(String, usize)>,
    cuts: Vec<String>,
    rows: Vec<Row>,
    eps: f32,
}

impl Signs {
    /// Sums over the gradients that a rig holds.
    pub fn new<R: Real>(
        rig: &Rig<R>,
        history: &History,
        steps: &Steps<R>,
        before: &Moments<R>,
    ) -> Self {
        let cuts: Vec<String> = rig.cuts().iter().map(Cut::to_string).collect();
        let factors: Vec<f64> = (0..cuts.len()).map(|cut| steps.factor(cut)).collect();
        let has_scale = !history.root().is_empty();
        let mut signs =
            Self::open(rig.groups(), cuts, &history.adamw, before.step, &factors, has_scale);
        for (group, ranges) in rig.groups().iter().map(|group| &group.ranges).enumerate() {
            let tiles = ranges.iter().flat_map(|range| {
                let tile = |start: usize| start..range.end.min(start + TILE);
                range.clone().step_by(TILE).map(tile)
            });
            for at in tiles {
                let root = history.root().get(at.clone());
                let (first, second) = (&before.first[at.clone()], &before.second[at.clone()]);
                let gradient = |cut: usize| &rig.gradient(cut)[at.clone()];
                signs.take(group, &Tile { root, first, second }, &gradient);
            }
        }
        signs
    }

    /// Sums that are still to be formed, tile by tile. `step` counts the updates before this one.
    pub fn open(
        groups: &[Group],
        cuts: Vec<String>,
        adamw: &AdamWSettings,
        step: u64,
        factors: &[f64],
        has_scale: bool,
    ) -> Self {
        let mut rows = Vec::new();
        for (cut, &factor) in factors.iter().enumerate() {
            let mut add = |what| {
                let terms = vec![[0.0; 2]; TILE];
                let (sums, counts) = (vec![[0.0; 2]; groups.len()], vec![[0; 2]; groups.len()]);
                rows.push(Row { cut, what, terms, sums, counts });
            };
            let sign = |layer, factor| What::Sign(layer, direction(adamw, step + 1, factor));
            if has_scale {
                add(What::Scaled);
            }
            add(sign(Layer::Applied, factor));
            if factor < 1.0 {
                add(sign(Layer::Unclipped, 1.0));
            }
        }
        let groups = groups.iter().map(|group| (group.name.clone(), group.len())).collect();
        Self { groups, cuts, rows, eps: adamw.eps as f32 }
    }

    /// Takes in a stretch of at most [`TILE`] weights of a group, which come in their order.
    pub fn take<'g, R: Real>(
        &mut self,
        group: usize,
        tile: &Tile<R>,
        gradient: &dyn Fn(usize) -> &'g [R],
    ) {
        let n = tile.first.len();
        let (mut weight, mut full) = ([0.0; TILE], [0.0; TILE]);
        if let Some(root) = tile.root {
            history::weights(self.eps, root, gradient(0), &mut weight[..n], &mut full);
        }
        for row in &mut self.rows {
            let gradient = gradient(row.cut);
            let terms = &mut row.terms[..n];
            if let What::Sign(_, direction) = row.what {
                let found =
                    history::sign_terms(direction, gradient, tile.first, tile.second, terms);
                let [nonzero, saturated] = &mut row.counts[group];
                *nonzero += found[0];
                *saturated += found[1];
            } else {
                history::scaled_terms(gradient, &weight, &full, terms);
            }
        }
        let mut sums: Vec<[f64; 2]> = self.rows.iter().map(|row| row.sums[group]).collect();
        let terms: Vec<&[[f64; 2]]> = self.rows.iter().map(|r| &r.terms[..n]).collect();
        add_in_sequence(&terms, &mut sums);
        for (row, sums) in self.rows.iter_mut().zip(sums) {
            row.sums[group] = sums;
        }
    }

    fn find(&self, cut: usize, is: impl Fn(What) -> bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.cut == cut && is(row.what))
    }

    /// The moment-scaled cosine between a cut's gradient and FF's.
    pub fn scaled_cosines(&self, cut: usize) -> Vec<Finding> {
        const NAME: &str = "moment.cosine";
        let name = self.cuts[cut].clone();
        let parts = self.groups.iter().map(|(name, _)| name.as_str()).chain([ALL]);
        let row = |cut| self.find(cut, |what| what == What::Scaled);
        let Some((own, full)) = row(cut).zip(row(0)) else {
            return parts.map(|part| Finding::undefined(NAME, &name, part, NO_HISTORY)).collect();
        };
        let pairs = own.sums.iter().zip(&full.sums);
        let mut sums: Vec<[f64; 3]> = pairs.map(|(own, full)| [own[0], full[0], own[1]]).collect();
        let add = |a: [f64; 3], b: &[f64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        sums.push(sums.iter().fold([0.0; 3], add));
        let report = |(part, [own, other, dot]): (&str, [f64; 3])| {
            let lengths = own.sqrt() * other.sqrt();
            if lengths > 0.0 {
                Finding::new(NAME, &name, part, (dot / lengths).clamp(-1.0, 1.0))
            } else {
                Finding::undefined(NAME, &name, part, "a gradient is zero")
            }
        };
        parts.zip(sums).map(report).collect()
    }

    /// How much AdamW's direction, after the step, is the sign of the gradient. Nothing for a layer that
    /// a cut does not have.
    pub fn directions(&self, cut: usize, layer: Layer) -> Vec<Finding> {
        let is = |what| matches!(what, What::Sign(of, _) if of == layer);
        let Some(row) = self.find(cut, is) else { return Vec::new() };
        let name = self.cuts[cut].clone();
        let mut findings = Vec::with_capacity(2 * self.groups.len() + 2);
        let mut report = |part: &str, sign: Sign| {
            let quantity = [layer.name(), ".sign-cosine"].concat();
            findings.push(if let Some(value) = sign.cosine() {
                Finding::new(quantity, &name, part, value)
            } else {
                let why = "the gradient or the direction is zero";
                Finding::undefined(quantity, &name, part, why)
            });
            let share = f64::from(sign.saturated) / sign.count.max(1) as f64;
            let quantity = [layer.name(), ".saturated"].concat();
            findings.push(Finding::new(quantity, &name, part, share));
        };
        let mut whole = Sign::default();
        for ((part, count), (sums, counts)) in
            self.groups.iter().zip(row.sums.iter().zip(&row.counts))
        {
            let ([dot, square], [nonzero, saturated]) = (*sums, *counts);
            let sign = Sign { dot, square, nonzero, saturated, count: *count };
            whole.join(&sign);
            report(part, sign);
        }
        report(ALL, whole);
        findings
    }
}

/// The scalars of AdamW's direction after a step with a gradient that is clipped by `factor`.
fn direction(adamw: &AdamWSettings, step: u64, factor: f64) -> Direction {
    let AdamWSettings { beta1, beta2, eps, .. } = *adamw;
    let (unbias1, unbias2) = (unbias(beta1, step), unbias(beta2, step));
    let limit = (1.0 - beta1) * unbias1 / ((1.0 - beta2) * unbias2).sqrt();
    Direction {
        keep1: beta1 as f32,
        new1: ((1.0 - beta1) * factor) as f32,
        keep2: beta2 as f32,
        new2: ((1.0 - beta2) * factor * factor) as f32,
        unbias1: unbias1 as f32,
        unbias2: unbias2 as f32,
        eps: eps as f32,
        threshold: (SATURATED * limit) as f32,
    }
}

/// What the cosine between a direction and the sign of a gradient rests on.
#[derive(Default)]
struct Sign {
    dot: f64,
    square: f64,
    nonzero: u32,
    saturated: u32,
    count: usize,
}

impl Sign {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_along_the_sign_has_cosine_one() {
        // sign(g) . d and |d|^2 for three gradients of any size and directions of 0.5 along their signs.
        let sign = Sign { dot: 1.5, square: 0.75, nonzero: 3, ..Sign::default() };
        assert_eq!(sign.cosine(), Some(1.0));
        assert_eq!(Sign::default().cosine(), None);
    }
}
