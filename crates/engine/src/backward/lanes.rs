//! From cuts to adjoint lanes: which backward passes run side by side.
//!
//! Cuts that send the same adjoints everywhere share a *group*: `FD` and `F_SG` differ only in what
//! the memory projections collect, so they are two *variants* of one group. `Steps(k)` needs `k`
//! lanes in its group (lane `i` holds paths that passed `i` state edges), everything else one.

use std::ops::Range;

use crate::compile::program::Program;
use crate::credit::BackwardError;
use crate::credit::{Credits, Draw, Resolved, StateEdges};
use crate::cut::{Cut, StateCredit};

/// Lanes that serve one or two cuts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Group {
    pub state: StateEdges,
    /// Of the cuts, edge by edge the one whose weights collect the most.
    pub resolved: Resolved,
    pub credits: Credits,
    pub first_lane: usize,
}

/// A gradient to be computed: one or more requested cuts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Variant {
    pub group: usize,
    pub resolved: Resolved,
    pub credits: Credits,
    /// The variant of the same group that computes everything the two have in common.
    pub leader: usize,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    pub groups: Vec<Group>,
    pub variants: Vec<Variant>,
    /// For each requested cut, its variant.
    pub of_cut: Vec<usize>,
    pub lanes: usize,
    learning: Range<usize>,
    /// A cut that waits for a draw.
    pub undrawn: Option<Cut>,
}

impl Plan {
    /// `learning`: the steps after the prefix. With `share`, cuts that agree share lanes; without,
    /// each requested cut has its own (they may carry different seeds).
    pub fn new(
        program: &Program,
        learning: Range<usize>,
        cuts: &[Cut],
        share: bool,
    ) -> Result<Self, BackwardError> {
        let resolved = cuts
            .iter()
            .map(|cut| Resolved::new(program, *cut))
            .collect::<Result<Vec<Resolved>, BackwardError>>()?;
        let mut plan = Self {
            groups: Vec::new(),
            variants: Vec::new(),
            of_cut: Vec::new(),
            lanes: 0,
            learning,
            undrawn: cuts.iter().copied().find(|cut| cut.is_drawn()),
        };
        let mut keys: Vec<(StateCredit, Resolved)> = Vec::new();
        for (cut, resolved) in cuts.iter().zip(resolved) {
            let key = (cut.state, resolved.lane_mate());
            let found = if share { keys.iter().position(|k| *k == key) } else { None };
            let credits = Credits::new(&resolved, Draw::default(), &plan.learning);
            if let Some(group) = found {
                let group = &mut plan.groups[group];
                group.resolved = group.resolved.collecting_most(&resolved);
                group.credits = Credits::new(&group.resolved, Draw::default(), &plan.learning);
            } else {
                let (resolved, credits) = (resolved.clone(), credits.clone());
                let state = StateEdges::new(cut.state, plan.learning.len());
                plan.groups.push(Group { state, resolved, credits, first_lane: plan.lanes });
                plan.lanes += state.lanes();
                keys.push(key);
            }
            let group = found.unwrap_or(plan.groups.len() - 1);
            let same = |v: &Variant| v.group == group && v.resolved == resolved;
            let variant = plan.variants.iter().position(same).unwrap_or_else(|| {
                let index = plan.variants.len();
                let leader = plan.variants.iter().position(|v| v.group == group).unwrap_or(index);
                plan.variants.push(Variant { group, resolved, credits, leader });
                index
            });
            plan.of_cut.push(variant);
        }
        Ok(plan)
    }

    /// Tabulates anew what differs from update to update.
    pub fn draw(&mut self, draw: Draw) {
        self.undrawn = None;
        let groups = self.groups.iter_mut().map(|group| (&group.resolved, &mut group.credits));
        let variants = self.variants.iter_mut().map(|v| (&v.resolved, &mut v.credits));
        for (resolved, credits) in groups.chain(variants).filter(|(r, _)| r.is_drawn()) {
            *credits = Credits::new(resolved, draw, &self.learning);
        }
    }

    /// The group of a lane.
    pub fn group_of(&self, lane: usize) -> &Group {
        self.groups
            .iter()
            .find(|group| group.lanes().contains(&lane))
            .expect("every lane belongs to a group")
    }
}

impl Group {
    /// Its lanes.
    pub fn lanes(&self) -> Range<usize> {
        self.first_lane..self.first_lane + self.state.lanes()
    }
}
