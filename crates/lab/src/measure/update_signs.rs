//! Sums of gradients against the optimizer's memory: scaled products with FF, and the optimizer's
//! direction against the sign.
//!
//! These sums run through a group in plain sequence. One of them waits for its own additions most
//! of the time, so those of all cuts run side by side, over tiles that stay in the first cache.

use crate::training::Rule;
use backcut_kernels::optim::history;
use backcut_kernels::optim::rule::Direction;
use backcut_kernels::reduce::add_in_sequence;
use backcut_kernels::{Isa, Real};

use crate::measure::finding::{Finding, Of};
use crate::measure::geometry::part_names;
use crate::measure::groups::{ALL, Group};
use crate::measure::layers::Layer;

/// Weights of a tile: the terms of a dozen rows take 24 KiB.
pub(crate) const TILE: usize = 128;

/// What is summed for a cut, two sums at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    /// `|w g|^2` and `(w g) . (w g_FF)` with `w = 1 / (sqrt(vhat) + eps)`.
    Scaled,
    /// `sign(g) . d` and `|d|^2` of the direction `d` that makes a layer's update, and its clipping
    /// factor.
    Sign(Layer, f64, Direction),
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

/// What an optimizer brings to the sums.
pub(crate) struct Scale<'h> {
    pub rule: &'h Rule,
    /// Updates before this one.
    pub step: u64,
    /// Why there is no scale, if there is none.
    pub missing: Option<&'static str>,
    /// The rule sees the gradient with its weight decay.
    pub is_decay_coupled: bool,
}

/// The sums of all cuts.
pub(crate) struct Signs {
    groups: Vec<Group>,
    cuts: Vec<Of>,
    rows: Vec<Row>,
    rule: Rule,
    eps: f32,
    /// Why there is no scale, where there is none.
    why: &'static str,
    is_decay_coupled: bool,
}

impl Signs {
    /// Sums that are still to be formed, tile by tile.
    pub fn open(groups: &[Group], cuts: Vec<Of>, scale: &Scale, eps: f32, factors: &[f64]) -> Self {
        let Scale { rule, step, missing, is_decay_coupled } = *scale;
        let mut rows = Vec::new();
        for (cut, &factor) in factors.iter().enumerate() {
            let mut add = |what| {
                let terms = vec![[0.0; 2]; TILE];
                let (sums, counts) = (vec![[0.0; 2]; groups.len()], vec![[0; 2]; groups.len()]);
                rows.push(Row { cut, what, terms, sums, counts });
            };
            let sign = |layer, factor: f64| {
                // A gradient with its decay is formed apart, the factor included.
                let rest = if is_decay_coupled { 1.0 } else { factor };
                What::Sign(layer, factor, rule.direction(step + 1, rest))
            };
            if missing.is_none() {
                add(What::Scaled);
            }
            add(sign(Layer::Applied, factor));
            if factor < 1.0 {
                add(sign(Layer::Unclipped, 1.0));
            }
        }
        let (rule, why) = (*rule, missing.unwrap_or_default());
        Self { groups: groups.to_vec(), cuts, rows, rule, eps, why, is_decay_coupled }
    }

    /// Takes in a stretch of at most [`TILE`] weights of a group, which come in their order. `seen`
    /// is asked for the clipped gradient of a cut with its decay where the rule sees that.
    pub fn take<'g, R: Real>(
        &mut self,
        group: usize,
        tile: &Tile<R>,
        gradient: &dyn Fn(usize) -> &'g [R],
        seen: &dyn Fn(usize, f64, &mut [R]),
    ) {
        let (isa, n) = (Isa::detect(), tile.first.len());
        let (mut weight, mut full) = ([0.0; TILE], [0.0; TILE]);
        let mut decayed = [R::ZERO; TILE];
        if let Some(root) = tile.root {
            history::weights(self.eps, root, gradient(0), &mut weight[..n], &mut full);
        }
        for row in &mut self.rows {
            let mut gradient = gradient(row.cut);
            let terms = &mut row.terms[..n];
            if let What::Sign(_, factor, direction) = row.what {
                if self.is_decay_coupled {
                    seen(row.cut, factor, &mut decayed[..n]);
                    gradient = &decayed[..n];
                }
                let found = direction.terms(isa, gradient, tile.first, tile.second, terms);
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
        let parts = part_names(&self.groups);
        let row = |cut| self.find(cut, |what| what == What::Scaled);
        let Some((own, full)) = row(cut).zip(row(0)) else {
            return parts.map(|part| Finding::undefined(NAME, &name, part, self.why)).collect();
        };
        let pairs = own.sums.iter().zip(&full.sums);
        let mut sums: Vec<[f64; 3]> = pairs.map(|(own, full)| [own[0], full[0], own[1]]).collect();
        let add = |a: [f64; 3], b: &[f64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        let kept = self.groups.iter().zip(&sums).filter(|(group, _)| !group.is_apart);
        let whole = kept.fold([0.0; 3], |total, (_, sums)| add(total, sums));
        sums.push(whole);
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

    /// How much the optimizer's direction, after the step, is the sign of the gradient. Nothing for
    /// a layer that a cut does not have.
    pub fn directions(&self, cut: usize, layer: Layer) -> Vec<Finding> {
        let is = |what| matches!(what, What::Sign(of, ..) if of == layer);
        let Some(row) = self.find(cut, is) else { return Vec::new() };
        let name = self.cuts[cut].clone();
        let mut findings = Vec::with_capacity(2 * self.groups.len() + 2);
        let mut report = |part: &str, sign: Sign| {
            let quantity = [layer.name(), ".sign-cosine"].concat();
            findings.push(if let Some(value) = sign.cosine() {
                let mut finding = Finding::new(quantity, &name, part, value);
                if self.is_decay_coupled {
                    "of the gradient with its weight decay".clone_into(&mut finding.note);
                }
                finding
            } else {
                let why = "the gradient or the direction is zero";
                Finding::undefined(quantity, &name, part, why)
            });
            let share = f64::from(sign.saturated) / sign.count.max(1) as f64;
            let quantity = [layer.name(), ".saturated"].concat();
            findings.push(match self.rule.scale(1) {
                Ok(_) => Finding::new(quantity, &name, part, share),
                Err(why) => Finding::undefined(quantity, &name, part, why),
            });
        };
        let mut whole = Sign::default();
        for (group, (sums, counts)) in self.groups.iter().zip(row.sums.iter().zip(&row.counts)) {
            let ([dot, square], [nonzero, saturated]) = (*sums, *counts);
            let sign = Sign { dot, square, nonzero, saturated, count: group.len() };
            if !group.is_apart {
                whole.join(&sign);
            }
            report(&group.name, sign);
        }
        report(ALL, whole);
        findings
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
        // sign(g) . d and |d|^2 for three gradients of any size and directions of 0.5 along their
        // signs.
        let sign = Sign { dot: 1.5, square: 0.75, nonzero: 3, ..Sign::default() };
        assert_eq!(sign.cosine(), Some(1.0));
        assert_eq!(Sign::default().cosine(), None);
    }
}
