//! Gradients against the optimizer's second moment, stretch by stretch.

use std::ops::Range;

use backcut_kernels::Real;
use backcut_kernels::optim::history;

use super::compare::{Space, Updates};
use super::described::{Optimizing, OutsideError};
use super::rule::scale;
use super::select::{Look, Sought};
use super::{Source, Vector};
use crate::measure::comparison::Plan;
use crate::measure::finding::Finding;
use crate::measure::geometry::part_names;
use crate::measure::groups::Group;
use crate::measure::update_scales::{NO_HISTORY, unbias};
use crate::measure::update_signs::{Scale, Signs, TILE, Tile};

/// Weights that are read at a time where nothing but rho is looked at.
const STRETCH: usize = 4096;

/// What gradients are held against: `sqrt(vhat) + eps`, the second moment before the update.
#[derive(Clone, Copy)]
pub(super) struct Yardstick {
    unbias: f32,
    eps: f32,
}

impl Yardstick {
    /// None before the first update, and for an optimizer that has no such thing.
    pub(super) fn new(optimizer: &Optimizing) -> Option<Self> {
        let settings = scale(&optimizer.rule).filter(|_| optimizer.step > 0)?;
        let unbias = unbias(settings.beta2, optimizer.step) as f32;
        Some(Self { unbias, eps: settings.eps as f32 })
    }

    pub(super) fn root<R: Real>(self, second: &[R], root: &mut Vec<f32>) {
        root.resize(second.len(), 0.0);
        history::root(self.unbias, second, root);
    }

    /// Writes rho; returns how many lie above one.
    pub(super) fn rho<R: Real>(
        self,
        factor: f64,
        gradient: &[R],
        root: &[f32],
        rho: &mut Vec<f32>,
    ) -> u32 {
        rho.resize(root.len(), 0.0);
        history::ratio(factor as f32, self.eps, gradient, root, rho)
    }
}

/// The medians of rho in search, by arm and part: the groups, then everything.
///
/// A group is counted from its first weight to its last and no longer, so memory follows the arms and the groups
/// that lie in each other, not the model.
pub(super) struct Medians {
    sought: Vec<Vec<Sought>>,
    open: Vec<Vec<Option<Look>>>,
    whole: Vec<Look>,
    /// Where every group ends.
    ends: Vec<usize>,
    is_first: bool,
    kept: Vec<f32>,
}

impl Medians {
    pub(super) fn new(groups: &[Group], arms: usize) -> Self {
        let lengths = groups.iter().map(Group::len);
        let whole = Sought::new(lengths.clone().sum());
        let parts: Vec<Sought> = lengths.map(Sought::new).chain([whole.clone()]).collect();
        let end = |group: &Group| group.ranges.iter().map(|range| range.end).max();
        Self {
            sought: vec![parts; arms],
            open: vec![vec![None; groups.len()]; arms],
            whole: vec![whole.look(); arms],
            ends: groups.iter().filter_map(end).collect(),
            is_first: true,
            kept: Vec::new(),
        }
    }

    /// Takes in an arm's rho of a stretch of a group that ends at `end`; stretches come in their order.
    pub(super) fn take(&mut self, arm: usize, group: usize, end: usize, rho: &[f32]) {
        let Self { sought, open, whole, ends, is_first, kept } = self;
        let (sought, whole) = (&mut sought[arm][group], &mut whole[arm]);
        let look = open[arm][group].get_or_insert_with(|| sought.look());
        look.take(rho, kept);
        if !*is_first {
            whole.take(rho, kept);
        }
        if end == ends[group]
            && let Some(look) = open[arm][group].take()
        {
            sought.narrow(&look);
            if *is_first {
                // Everything was counted by the same drawers.
                whole.join(&look);
            }
        }
    }

    /// Ends a look at all vectors; the next is at gradients that are clipped by `factors`, if they were not yet.
    pub(super) fn end_look(&mut self, factors: &[f64]) {
        for ((sought, whole), factor) in self.sought.iter_mut().zip(&mut self.whole).zip(factors) {
            if let Some(all) = sought.last_mut() {
                all.narrow(whole);
            }
            if self.is_first {
                for part in sought.iter_mut() {
                    part.scale(*factor as f32);
                }
            }
            if let Some(all) = sought.last() {
                *whole = all.look();
            }
        }
        self.is_first = false;
    }

    /// The medians of an arm by part, once all are found.
    fn of(&self, arm: usize) -> Option<Vec<f64>> {
        self.sought[arm].iter().map(Sought::median).collect()
    }

    pub(super) fn are_found(&self) -> bool {
        self.sought.iter().flatten().all(|sought| sought.median().is_some())
    }
}

/// Gradients against the moments: sums, and counts.
pub(super) struct Scales {
    pub(super) signs: Signs,
    /// Medians of rho; none without a second moment.
    medians: Option<Medians>,
    /// How many of rho lie above one, by arm and group.
    above: Vec<Vec<u64>>,
}

impl Scales {
    /// Nothing for an optimizer without such a scale.
    pub(super) fn new(updates: &Updates, medians: Option<Medians>) -> Option<Self> {
        let settings = scale(&updates.optimizer.rule)?;
        let (groups, arms) = (updates.groups, updates.described.arms.clone());
        let scale = Scale {
            rule: &updates.optimizer.rule,
            step: updates.optimizer.step,
            missing: medians.is_none().then_some(NO_HISTORY),
            is_decay_coupled: false,
        };
        let above = vec![vec![0; groups.len()]; arms.len()];
        let signs = Signs::open(groups, arms, &scale, settings.eps as f32, &updates.factors);
        Some(Self { signs, medians, above })
    }

    /// Takes in a stretch of a group that ends at `end`.
    pub(super) fn take<R: Real>(
        &mut self,
        updates: &Updates,
        group: usize,
        end: usize,
        space: &mut Space<R>,
    ) {
        for start in (0..space.first.len()).step_by(TILE) {
            let at = start..space.first.len().min(start + TILE);
            let root = space.root.get(at.clone()).filter(|root| !root.is_empty());
            let (first, second) = (&space.first[at.clone()], &space.second[at.clone()]);
            let gradient = |arm: usize| &space.gradients[arm][at.clone()];
            self.signs.take(group, &Tile { root, first, second }, &gradient, &|_, _, _| {});
        }
        if let (Some(yardstick), Some(medians)) = (updates.yardstick, &mut self.medians) {
            for (arm, gradient) in space.gradients.iter().enumerate() {
                let factor = updates.factors[arm];
                let above = yardstick.rho(factor, gradient, &space.root, &mut space.rho);
                self.above[arm][group] += u64::from(above);
                medians.take(arm, group, end, &space.rho);
            }
        }
    }

    /// Ends the pass. Medians that a first look has not led to, which takes numbers at the edge of what single
    /// precision holds, are looked for until they are found.
    pub(super) fn finish<R: Real>(
        &mut self,
        updates: &Updates,
        plan: &Plan,
        source: &mut dyn Source<R>,
    ) -> Result<(), OutsideError> {
        let (Some(yardstick), Some(medians)) = (updates.yardstick, &mut self.medians) else {
            return Ok(());
        };
        medians.end_look(&updates.factors);
        let (mut second, mut gradient) = (Vec::new(), Vec::new());
        let (mut root, mut rho) = (Vec::new(), Vec::new());
        while !medians.are_found() {
            for (piece, group) in plan.pieces() {
                for start in piece.clone().step_by(STRETCH) {
                    let range: Range<usize> = start..piece.end.min(start + STRETCH);
                    second.resize(range.len(), R::ZERO);
                    gradient.resize(range.len(), R::ZERO);
                    source.read(Vector::Second, range.clone(), &mut second)?;
                    yardstick.root(&second, &mut root);
                    for (arm, &factor) in updates.factors.iter().enumerate() {
                        source.read(Vector::Gradient(arm), range.clone(), &mut gradient)?;
                        yardstick.rho(factor, &gradient, &root, &mut rho);
                        medians.take(arm, group, range.end, &rho);
                    }
                }
            }
            medians.end_look(&updates.factors);
        }
        Ok(())
    }

    /// rho of an arm: medians, and shares above one.
    pub(super) fn rho(&self, updates: &Updates, arm: usize) -> Vec<Finding> {
        let name = &updates.described.arms[arm];
        let medians = self.medians.as_ref().and_then(|medians| medians.of(arm));
        let counts = updates.groups.iter().map(Group::len).chain([updates.described.len()]);
        let above = self.above[arm].iter().copied().chain([self.above[arm].iter().sum()]);
        let parts = part_names(updates.groups).zip(counts).zip(above);
        let mut findings = Vec::new();
        for (at, ((part, count), above)) in parts.enumerate() {
            let share = above as f64 / count as f64;
            let values = medians.as_ref().map(|medians| [medians[at], share]);
            for (which, quantity) in ["rho.median", "rho.above-one"].into_iter().enumerate() {
                findings.push(match values {
                    Some(values) => Finding::new(quantity, name, part, values[which]),
                    None => Finding::undefined(quantity, name, part, NO_HISTORY),
                });
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Described, InMemory, compare, group};
    use super::*;
    use crate::measure::median::Medians as Sorted;
    use backcut_systems::{AdamWSettings, Rule};

    /// A clip to a few of the smallest numbers that single precision has: rho before the clip says little of rho after
    /// it, and a further look is needed.
    #[test]
    fn a_clip_to_almost_nothing_leaves_medians_exact() {
        let n = 1001;
        let gradient: Vec<f32> = (0..n).map(|i| (1 + i * 37 % 101) as f32 / 100.0).collect();
        let second: Vec<f32> = (0..n).map(|i| 1e-14 * (1 + i % 7) as f32).collect();
        let rule = Rule::AdamW(AdamWSettings { eps: 1e-9, ..AdamWSettings::default() });
        let optimizer = Optimizing { rule, clip: 1.8e-42, step: 3 };
        let described = Described {
            parameters: vec![("w".into(), n)],
            arms: vec!["a".into()],
            optimizer: Some(optimizer),
            factorial: None,
        };
        let zeros = vec![0.0; n];
        let mut source = InMemory {
            parameters: &zeros,
            first: &zeros,
            second: &second,
            gradients: vec![&gradient],
        };
        let groups = group(&described, &[]).unwrap();
        let found = compare(&described, &groups, &mut source).unwrap();
        let value = |name: &str| {
            let is_it = |f: &&Finding| f.quantity == name && f.part == "all";
            found.iter().find(is_it).unwrap().value.unwrap()
        };
        let (mut root, mut rho) = (Vec::new(), Vec::new());
        let yardstick = Yardstick::new(&optimizer).unwrap();
        yardstick.root(&second, &mut root);
        yardstick.rho(value("clip.factor"), &gradient, &root, &mut rho);
        assert_eq!(value("rho.median"), Sorted::default().of(&rho));
        assert!(value("rho.median") > 0.0);
    }
}
