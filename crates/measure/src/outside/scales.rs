//! Gradients against the optimizer's second moment, stretch by stretch.

use backcut_kernels::Real;
use backcut_kernels::optim::history;

use super::compare::{Space, Updates};
use super::described::OutsideError;
use super::rule::scale;
use super::select::{Coarse, Fine};
use super::{Source, Vector};
use crate::comparison::Plan;
use crate::finding::Finding;
use crate::geometry::part_names;
use crate::groups::Group;
use crate::update_scales::NO_HISTORY;
use crate::update_signs::{Scale, Signs, TILE, Tile};

/// Weights that the third pass reads at a time.
const STRETCH: usize = 4096;

/// Gradients against the second moment: sums, and counts for medians.
pub(super) struct Scales {
    pub(super) signs: Signs,
    /// By arm and group.
    coarse: Vec<Vec<Coarse>>,
    pub(super) above: Vec<Vec<u64>>,
}

impl Scales {
    /// Nothing for an optimizer without such a scale.
    pub(super) fn new(updates: &Updates) -> Option<Self> {
        let settings = scale(&updates.optimizer.rule)?;
        let (groups, arms) = (updates.groups, updates.described.arms.clone());
        let (count, step, has_scale) = (arms.len(), updates.optimizer.step, updates.has_scale());
        let scale = Scale {
            rule: &updates.optimizer.rule,
            step,
            missing: (!has_scale).then_some(NO_HISTORY),
            is_decay_coupled: false,
        };
        let eps = settings.eps as f32;
        let signs = Signs::open(groups, arms, &scale, eps, &updates.factors);
        let drawers = if has_scale { vec![Coarse::new(); groups.len()] } else { Vec::new() };
        let coarse = vec![drawers; count];
        Some(Self { signs, coarse, above: vec![vec![0; groups.len()]; count] })
    }

    /// Takes in a stretch of a group.
    pub(super) fn take<R: Real>(&mut self, updates: &Updates, group: usize, space: &mut Space<R>) {
        for start in (0..space.first.len()).step_by(TILE) {
            let at = start..space.first.len().min(start + TILE);
            let root = space.root.get(at.clone()).filter(|root| !root.is_empty());
            let (first, second) = (&space.first[at.clone()], &space.second[at.clone()]);
            let gradient = |arm: usize| &space.gradients[arm][at.clone()];
            self.signs.take(group, &Tile { root, first, second }, &gradient, &|_, _, _| {});
        }
        if !space.root.is_empty() {
            for arm in 0..self.coarse.len() {
                self.above[arm][group] += u64::from(updates.ratio(arm, space));
                self.coarse[arm][group].take(&space.ratios);
            }
        }
    }
}

impl Updates<'_> {
    /// The third pass: the medians of rho, by arm and part.
    pub(super) fn third_pass<R: Real>(
        &self,
        plan: &Plan,
        scales: &Scales,
        source: &mut dyn Source<R>,
    ) -> Result<Vec<Vec<Option<f64>>>, OutsideError> {
        let narrow = |of_group: &Vec<Coarse>| {
            let mut all = Coarse::new();
            for coarse in of_group {
                all.join(coarse);
            }
            of_group.iter().map(Coarse::narrow).chain([all.narrow()]).collect::<Vec<Fine>>()
        };
        let mut fine: Vec<Vec<Fine>> = scales.coarse.iter().map(narrow).collect();
        let mut space = self.space::<R>();
        for (piece, group) in plan.pieces() {
            for start in piece.clone().step_by(STRETCH) {
                let range = start..piece.end.min(start + STRETCH);
                space.second.resize(range.len(), R::ZERO);
                source.read(Vector::Second, range.clone(), &mut space.second)?;
                self.find_root(&mut space);
                for (arm, fine) in fine.iter_mut().enumerate() {
                    space.gradients[arm].resize(range.len(), R::ZERO);
                    source.read(Vector::Gradient(arm), range.clone(), &mut space.gradients[arm])?;
                    self.ratio(arm, &mut space);
                    fine[group].take(&space.ratios);
                    fine[self.groups.len()].take(&space.ratios);
                }
            }
        }
        Ok(fine.iter().map(|row| row.iter().map(Fine::median).collect()).collect())
    }

    /// rho of a stretch; returns how many lie above one.
    fn ratio<R: Real>(&self, arm: usize, space: &mut Space<R>) -> u32 {
        let Some(settings) = scale(&self.optimizer.rule) else { return 0 };
        let (eps, kappa) = (settings.eps as f32, self.factors[arm] as f32);
        space.ratios.resize(space.root.len(), 0.0);
        history::ratio(kappa, eps, &space.gradients[arm], &space.root, &mut space.ratios)
    }

    /// rho of an arm: medians, and shares above one.
    pub(super) fn ratios(
        &self,
        arm: &str,
        medians: Option<&[Option<f64>]>,
        above: &[u64],
    ) -> Vec<Finding> {
        let counts = self.groups.iter().map(Group::len).chain([self.described.len()]);
        let all: u64 = above.iter().sum();
        let above = above.iter().copied().chain([all]);
        let mut findings = Vec::new();
        for (at, ((part, count), above)) in
            part_names(self.groups).zip(counts).zip(above).enumerate()
        {
            let median = medians.and_then(|medians| medians[at]);
            let (name, share) = ("rho.median", above as f64 / count as f64);
            findings.push(match median {
                Some(median) => Finding::new(name, arm, part, median),
                None => Finding::undefined(name, arm, part, NO_HISTORY),
            });
            findings.push(match median {
                Some(_) => Finding::new("rho.above-one", arm, part, share),
                None => Finding::undefined("rho.above-one", arm, part, NO_HISTORY),
            });
        }
        findings
    }
}
