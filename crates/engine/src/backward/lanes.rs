//! From cuts to adjoint lanes: which backward passes run side by side.
//!
//! Cuts that send the same adjoints everywhere share a *group*: `FD` and `F_SG` differ only in what
//! the memory projections collect, so they are two *variants* of one group. `Steps(k)` needs `k` lanes
//! in its group (lane `i` holds paths that passed `i` state edges), everything else one.

use std::ops::Range;

use backcut_kernels::attention::Side;

use crate::backward::BackwardError;
use crate::compile::program::Program;
use crate::credit::{MemoryEdges, StateEdges};
use crate::cut::{Cut, MemoryCredit, StateCredit};
use crate::ops::Op;

/// Lanes that serve one or two cuts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Group {
    pub state: StateEdges,
    /// Those of the cut whose weights collect the most.
    pub memory: MemoryEdges,
    pub first_lane: usize,
}

/// A gradient to be computed: one or more requested cuts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Variant {
    pub group: usize,
    credit: MemoryCredit,
    pub memory: MemoryEdges,
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
}

impl Plan {
    /// `learning`: the steps after the prefix. With `share`, cuts that agree share lanes; without, each
    /// requested cut has its own (they may carry different seeds).
    pub fn new(
        program: &Program,
        learning: Range<usize>,
        cuts: &[Cut],
        share: bool,
    ) -> Result<Self, BackwardError> {
        for cut in cuts {
            honour(program, *cut)?;
        }
        let mut plan =
            Self { groups: Vec::new(), variants: Vec::new(), of_cut: Vec::new(), lanes: 0 };
        let mut keys: Vec<(StateCredit, MemoryCredit)> = Vec::new();
        for cut in cuts {
            let key = (cut.state, cut.memory.lane_mate());
            let found = if share { keys.iter().position(|k| *k == key) } else { None };
            let memory = MemoryEdges::new(cut.memory, learning.clone());
            let group = found.unwrap_or_else(|| {
                keys.push(key);
                let state = StateEdges::new(cut.state, learning.len());
                let first_lane = plan.lanes;
                plan.lanes += state.lanes();
                plan.groups.push(Group { state, memory: memory.clone(), first_lane });
                plan.groups.len() - 1
            });
            if !plan.groups[group].memory.looks_back() {
                plan.groups[group].memory = memory.clone();
            }
            let same = |v: &Variant| v.group == group && v.credit == cut.memory;
            let variant = plan.variants.iter().position(same).unwrap_or_else(|| {
                let index = plan.variants.len();
                let leader = plan.variants.iter().position(|v| v.group == group).unwrap_or(index);
                plan.variants.push(Variant { group, credit: cut.memory, memory, leader });
                index
            });
            plan.of_cut.push(variant);
        }
        Ok(plan)
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

/// A cut that the program cannot honour is an error that names the edge.
fn honour(program: &Program, cut: Cut) -> Result<(), BackwardError> {
    if cut.state != StateCredit::Full && program.states().is_empty() {
        return Err(BackwardError::NoStateEdge { cut });
    }
    if cut.memory == MemoryCredit::Full {
        return Ok(());
    }
    if program.caches.is_empty() && program.registers().is_empty() {
        return Err(BackwardError::NoMemoryEdge { cut });
    }
    if cut.memory.needs_projections() {
        for cache in &program.caches {
            for (site, side) in [(cache.key, Side::Key), (cache.value, Side::Value)] {
                if !matches!(program.nodes()[site].op, Op::Linear(_)) {
                    let side = if side == Side::Key { "key" } else { "value" };
                    let edge = format!("memory edge `{}` ({side})", cache.name);
                    let made_by = program.nodes()[site].op.name();
                    return Err(BackwardError::NoProjection { cut, edge, made_by });
                }
            }
        }
    }
    Ok(())
}
