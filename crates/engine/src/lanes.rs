//! From cuts to adjoint lanes: which backward passes run side by side.
//!
//! Cuts that send the same adjoints everywhere share a *group*: `FD` and `F_SG` differ only in what
//! the memory projections collect, so they are two *variants* of one group. `Steps(k)` needs `k` lanes
//! in its group (lane `i` holds paths that passed `i` state edges), everything else one.

use backcut_kernels::attention::Side;

use crate::backward::BackwardError;
use crate::cut::{Cut, MemoryCredit, StateCredit};
use crate::ops::Op;
use crate::program::Program;

/// Lanes that serve one or two cuts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Group {
    pub state: StateCredit,
    /// Steps per segment; the whole rollout for `FF`.
    pub segment: usize,
    /// What crosses a segment boundary to the stored representation.
    pub alpha: f64,
    pub first_lane: usize,
    pub lanes: usize,
    /// Whether far queries matter: some variant keeps the weights' credit, or `alpha > 0`.
    pub far: bool,
}

/// What the memory projections collect across segment boundaries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weights {
    Keep,
    Drop,
}

/// A gradient to be computed: one or more requested cuts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Variant {
    pub group: usize,
    pub weights: Weights,
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
    /// `steps`: predicted steps. With `share`, cuts that agree share lanes; without, each requested
    /// cut has its own (they may carry different seeds).
    pub fn new(
        program: &Program,
        steps: usize,
        cuts: &[Cut],
        share: bool,
    ) -> Result<Self, BackwardError> {
        for cut in cuts {
            honour(program, *cut)?;
        }
        let mut plan = Self {
            groups: Vec::with_capacity(cuts.len()),
            variants: Vec::with_capacity(cuts.len()),
            of_cut: Vec::with_capacity(cuts.len()),
            lanes: 0,
        };
        let mut keys: Vec<(StateCredit, MemoryCredit)> = Vec::new();
        for cut in cuts {
            // FD and F_SG send the same adjoints: one lane yields both.
            let memory = match cut.memory {
                MemoryCredit::Projected => MemoryCredit::Stored { segment: None },
                other => other,
            };
            let key = (cut.state, memory);
            let found = if share { keys.iter().position(|k| *k == key) } else { None };
            let group = found.unwrap_or_else(|| {
                keys.push(key);
                plan.add_group(*cut, steps)
            });
            let weights = if cut.memory == MemoryCredit::Projected {
                Weights::Drop
            } else {
                plan.groups[group].far = true;
                Weights::Keep
            };
            let same = |v: &Variant| v.group == group && v.weights == weights;
            let variant = plan.variants.iter().position(same).unwrap_or_else(|| {
                let index = plan.variants.len();
                let leader = plan.variants.iter().position(|v| v.group == group).unwrap_or(index);
                plan.variants.push(Variant { group, weights, leader });
                index
            });
            plan.of_cut.push(variant);
        }
        Ok(plan)
    }

    fn add_group(&mut self, cut: Cut, steps: usize) -> usize {
        let (segment, alpha) = match cut.memory {
            MemoryCredit::Full => (steps, 0.0),
            MemoryCredit::Projected | MemoryCredit::Stored { segment: None } => (1, 0.0),
            MemoryCredit::Stored { segment: Some(length) } => (length.get() as usize, 0.0),
            MemoryCredit::Scaled { alpha } => (1, alpha.get()),
        };
        let lanes = match cut.state {
            StateCredit::Full => 1,
            // No path of `steps` steps passes more than `steps - 1` state edges.
            StateCredit::Steps(k) => (k.get() as usize).min(steps),
        };
        let first_lane = self.lanes;
        self.lanes += lanes;
        let far = alpha > 0.0;
        self.groups.push(Group { state: cut.state, segment, alpha, first_lane, lanes, far });
        self.groups.len() - 1
    }

    /// The group of a lane.
    pub fn group_of(&self, lane: usize) -> &Group {
        let inside = |g: &&Group| (g.first_lane..g.first_lane + g.lanes).contains(&lane);
        self.groups.iter().find(inside).expect("every lane belongs to a group")
    }
}

impl Group {
    /// First step of the segment that holds step `t`; segments count from `first`.
    pub fn segment_start(&self, first: usize, t: usize) -> usize {
        first + (t - first) / self.segment * self.segment
    }

    /// Whether steps `from < to` share a segment: then everything passes, else what the variant and
    /// `alpha` leave.
    pub fn is_near(&self, first: usize, from: usize, to: usize) -> bool {
        self.segment_start(first, to) <= from
    }

    /// Its lanes.
    pub fn lanes(&self) -> std::ops::Range<usize> {
        self.first_lane..self.first_lane + self.lanes
    }

    /// Whether a position receives something from later queries; otherwise nothing is kept of them.
    pub fn looks_back(&self) -> bool {
        self.segment > 1 || self.far
    }

    /// State edges that one path may pass at most; `None` for any number.
    pub fn state_edges(&self) -> Option<usize> {
        match self.state {
            StateCredit::Full => None,
            // Lane `i` holds the paths that passed `i` of them.
            StateCredit::Steps(_) => Some(self.lanes - 1),
        }
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
    if cut.memory != MemoryCredit::Projected {
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
