//! Gradients against the optimizer's own scale: why Adam enlarges one difference and swallows another.
//!
//! The scale of a weight is `sqrt(vhat)`, its second moment **before** the update, corrected for its bias;
//! before the first update there is none, SGD never has one, and what needs it is undefined there. The
//! direction of Adam and AdamW is `mhat / (sqrt(vhat) + eps)` **after** the update, without weight decay. A gradient that dominates
//! both moments brings `|mhat| / sqrt(vhat)` to the limit
//! `(1 - b1) / (1 - b1^t) * sqrt((1 - b2^t) / (1 - b2))` whatever its size (1 for the betas 0.9 and 0.99 at
//! late steps, 3.2 for 0.9 and 0.999). A weight is *saturated* above 0.9 of that: a saturated direction is
//! close to the gradient's sign. SGD's direction is its velocity after the update. Decay that is added to
//! the gradient (Adam's and SGD's, not AdamW's) is part of both the gradient and the direction here.

use crate::training::{AdamWSettings, Optimizer, Rule, State};
use backcut_engine::Cut;
use backcut_kernels::Real;
use backcut_kernels::optim::{self, history};

use crate::measure::finding::Finding;
use crate::measure::geometry::part_names;
use crate::measure::groups::{ALL, Group, pooled, whole_ranges};
use crate::measure::median::Medians;
use crate::measure::rig::Rig;

pub(crate) const NO_HISTORY: &str = "no second moment before update 1";
/// Why SGD lacks what is measured against a scale.
pub(crate) const NO_SCALE: &str = "not defined for SGD: it keeps no second moment";

/// Storage that a rig keeps from state to state.
#[derive(Default)]
pub(crate) struct Space {
    root: Vec<f32>,
    ratios: Vec<f32>,
    medians: Medians,
}

/// The second moment's scale before an update.
pub(crate) struct History {
    /// The rule of the step that follows.
    pub rule: Rule,
    /// Its `root` is `sqrt(vhat)`; empty before the first update, and under SGD.
    space: Space,
}

impl History {
    pub fn new<R: Real>(state: &State<R>, optimizer: &Optimizer, mut space: Space) -> Self {
        let rule = optimizer.at(state.moments.step + 1);
        let second = &state.moments.second;
        let moments = rule.moments().filter(|_| state.moments.step > 0);
        let len = if moments.is_some() { second.len() } else { 0 };
        space.root.resize(len, 0.0);
        space.ratios.resize(second.len(), 0.0);
        if let Some(AdamWSettings { beta2, .. }) = moments {
            let unbias = unbias(beta2, state.moments.step) as f32;
            history::root(unbias, second, &mut space.root);
        }
        Self { rule, space }
    }

    /// Why there is no scale, where there is none.
    pub fn reason(&self) -> &'static str {
        if self.rule.moments().is_some() { NO_HISTORY } else { NO_SCALE }
    }

    /// Adam's epsilon; a rule without one has no scale to add it to either.
    pub fn eps(&self) -> f32 {
        self.rule.moments().map_or(0.0, |moments| moments.eps as f32)
    }

    pub fn into_space(self) -> Space {
        self.space
    }

    /// `sqrt(vhat)`; empty before the first update.
    pub fn root(&self) -> &[f32] {
        &self.space.root
    }

    /// Medians of the scale itself; no cut plays a part.
    pub fn report(&mut self, groups: &[Group]) -> Vec<Finding> {
        const NAME: &str = "moment.scale";
        let why = self.reason();
        let Space { root, medians, .. } = &mut self.space;
        if root.is_empty() {
            return part_names(groups)
                .map(|part| Finding::undefined(NAME, "", part, why))
                .collect();
        }
        let of_group = |g: &Group| medians.of_ranges(root, &g.ranges);
        let mut values: Vec<f64> = groups.iter().map(of_group).collect();
        values.push(match whole_ranges(groups) {
            Some(kept) => medians.of_ranges(root, &kept),
            None => medians.of(root),
        });
        part_names(groups).zip(values).map(|(part, v)| Finding::new(NAME, "", part, v)).collect()
    }

    /// rho of one cut's gradient: medians, and shares above one.
    pub fn ratios<R: Real>(
        &mut self,
        groups: &[Group],
        cut: Cut,
        gradient: &[R],
        factor: f64,
    ) -> Vec<Finding> {
        const NAMES: [&str; 2] = ["rho.median", "rho.above-one"];
        let name = cut.to_string();
        let (why, eps) = (self.reason(), self.eps());
        let Space { root, ratios, medians } = &mut self.space;
        if root.is_empty() {
            let undefined = |quantity| {
                let name = &name;
                let finding = move |part| Finding::undefined(quantity, name, part, why);
                part_names(groups).map(finding)
            };
            return NAMES.into_iter().flat_map(undefined).collect();
        }
        let kappa = factor as f32;
        let mut findings = Vec::with_capacity(2 * groups.len() + 2);
        let mut report = |part: &str, median: f64, above: u32, count: usize| {
            findings.push(Finding::new(NAMES[0], &name, part, median));
            let share = f64::from(above) / count as f64;
            findings.push(Finding::new(NAMES[1], &name, part, share));
        };
        let (mut above_in_all, mut all) = (0, 0);
        for group in groups {
            let mut above = 0;
            for range in group.ranges.iter().cloned() {
                let (g, root) = (&gradient[range.clone()], &root[range.clone()]);
                above += history::ratio(kappa, eps, g, root, &mut ratios[range]);
            }
            report(&group.name, medians.of_ranges(ratios, &group.ranges), above, group.len());
            if !group.is_apart {
                above_in_all += above;
                all += group.len();
            }
        }
        let median = match whole_ranges(groups) {
            Some(kept) => medians.of_ranges(ratios, &kept),
            None => medians.of(ratios),
        };
        report(ALL, median, above_in_all, all);
        findings
    }
}

/// What a placement that keeps the projections' credit adds, against the scale that the history left
/// there: the median of `|kappa (g_kept - g_dropped)| / (sqrt(vhat) + eps)`, per group and pooled over
/// blocks for `w_k` and `w_v`.
pub(crate) fn added_ratios<R: Real>(
    history: &mut History,
    rig: &Rig<R>,
    kappa: f64,
    (kept, dropped): (usize, usize),
) -> Vec<Finding> {
    const NAME: &str = "added.ratio";
    let pair = format!("{} - {}", rig.cuts()[kept], rig.cuts()[dropped]);
    let (why, eps) = (history.reason(), history.eps());
    let (a, b) = (rig.gradient(kept), rig.gradient(dropped));
    let Space { root, ratios, medians } = &mut history.space;
    let groups = rig.groups();
    let distances = rig.compared_gradients().distances(kept, dropped);
    let own = groups.iter().cloned().zip(distances.iter().copied());
    let pool = |kind: &str| {
        let of_kind = groups.iter().zip(distances).filter(|(group, _)| group.kind() == kind);
        Some((pooled(groups, kind)?, of_kind.map(|(_, distance)| distance).sum()))
    };
    let parts = own.chain(["w_k", "w_v"].into_iter().filter_map(pool));
    let report = |(part, distance): (Group, f64)| {
        if distance == 0.0 {
            return Finding::undefined(NAME, &pair, &part.name, "the two agree in every bit here");
        }
        if root.is_empty() {
            return Finding::undefined(NAME, &pair, &part.name, why);
        }
        for range in part.ranges.iter().cloned() {
            let (a, b, root) = (&a[range.clone()], &b[range.clone()], &root[range.clone()]);
            history::ratio_of_difference(kappa, eps, a, b, root, &mut ratios[range]);
        }
        Finding::new(NAME, &pair, &part.name, medians.of_ranges(ratios, &part.ranges))
    };
    parts.map(report).collect()
}

pub(crate) fn unbias(beta: f64, step: u64) -> f64 {
    1.0 / (1.0 - optim::power(beta, step))
}
