//! Memory edges: what positions receive from near and far queries, and what a projection's weights
//! collect of it.

use std::ops::Range;

use backcut_kernels::attention::{Leave, NEIGHBOURS, Sent, Shape, Side, leave_slot};
use backcut_kernels::{Isa, Real};

use super::fill;
use crate::forward::MemoryReads;
use crate::lanes::{Group, Weights};
use crate::program::LinearSite;
use crate::rollout::Rollout;
use crate::trace::Site;
use crate::workspace::{Ahead, Workspace};

impl<R: Real> Workspace<R> {
    /// Adds to a key's or value's adjoint what later queries of its own segment gave it.
    pub(super) fn collect_near(&mut self, isa: Isa, rollout: &Rollout<R>, site: Site, t: usize) {
        let width = self.program.step.width(site);
        for &edge in &self.program.feeds[site] {
            for group in &self.plan.groups {
                let Some(queries) = readers(rollout, group, t, Where::Near) else { continue };
                for lane in group.first_lane..group.first_lane + group.lanes {
                    let range = self.adjoints.range(site, lane);
                    let target = &mut self.adjoints.data[range];
                    let later = Later { rollout, sent: &self.sent, edge, lane, t };
                    let ahead = self.ahead[edge.0][lane].as_mut();
                    let slot = later.sum(isa, queries.clone(), ahead, &mut self.scratch);
                    leave_slot(isa, later.shape(), width, Leave::Add, slot, target);
                }
            }
        }
    }

    /// Puts a linear site's output adjoint where the weight product of the chunk will find it.
    pub(super) fn collect_linear(
        &mut self,
        isa: Isa,
        rollout: &Rollout<R>,
        linear: &LinearSite,
        index: usize,
        t: usize,
    ) {
        let len = linear.n_out * self.rows;
        let slot = (t - self.prefix) % self.chunk * len;
        let plan = &self.plan;
        for (variant, source) in self.collected[index].of_variant.iter_mut().enumerate() {
            let Some(ring) = source.ring() else { continue };
            let ring = &mut ring[slot..slot + len];
            let described = plan.variants[variant];
            let group = &plan.groups[described.group];
            let register_edge = linear.role.register.is_some_and(|register| {
                let read = self.program.registers[register].read;
                t > self.prefix && !rollout.is_fixed(read, t)
            });
            if register_edge && described.weights == Weights::Drop {
                ring.fill(R::ZERO);
                continue;
            }
            let edges = &linear.role.projections;
            let keeps = described.weights == Weights::Keep && !edges.is_empty();
            let far = keeps.then(|| readers(rollout, group, t, Where::Far)).flatten();
            for (i, lane) in (group.first_lane..group.first_lane + group.lanes).enumerate() {
                let from = &self.adjoints.data[self.adjoints.range(linear.site, lane)];
                if let Some(queries) = &far {
                    // own and near first, then far: one order for every cut and number of lanes.
                    let full = &mut self.own[..len];
                    full.copy_from_slice(from);
                    for &edge in edges {
                        let later = Later { rollout, sent: &self.sent, edge, lane, t };
                        let ahead = self.ahead[edge.0][lane].as_mut();
                        let slot = later.sum(isa, queries.clone(), ahead, &mut self.scratch);
                        leave_slot(isa, later.shape(), linear.n_out, Leave::Add, slot, full);
                    }
                    fill(ring, full, i > 0);
                } else {
                    fill(ring, from, i > 0);
                }
            }
        }
        // What the stored representation receives across segment boundaries.
        for group in plan.groups.iter().filter(|g| g.alpha > 0.0) {
            let Some(queries) = readers(rollout, group, t, Where::Far) else { continue };
            let how = Leave::Scaled(R::from_f64(group.alpha));
            for lane in group.first_lane..group.first_lane + group.lanes {
                for &edge in &linear.role.projections {
                    let range = self.adjoints.range(linear.site, lane);
                    let target = &mut self.adjoints.data[range];
                    let later = Later { rollout, sent: &self.sent, edge, lane, t };
                    let ahead = self.ahead[edge.0][lane].as_mut();
                    let slot = later.sum(isa, queries.clone(), ahead, &mut self.scratch);
                    leave_slot(isa, later.shape(), linear.n_out, how, slot, target);
                }
            }
        }
    }
}

/// Later queries of the same segment, or of later ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Near,
    Far,
}

/// The later queries that read position `t`; `None` if there are none.
pub(super) fn readers<R: Real>(
    rollout: &Rollout<R>,
    group: &Group,
    t: usize,
    place: Where,
) -> Option<Range<usize>> {
    let end = (group.segment_start(rollout.spec.prefix, t) + group.segment).min(rollout.steps());
    let queries = match place {
        Where::Near => t + 1..end,
        Where::Far => end..rollout.steps(),
    };
    let queries = match &rollout.spec.reads {
        MemoryReads::Window(w) => queries.start..queries.end.min(t + w.get()),
        MemoryReads::All | MemoryReads::Mask(_) => queries,
    };
    // Masked queries among the others send zeros.
    queries.clone().any(|query| rollout.spec.is_read(query, t)).then_some(queries)
}

/// What later queries give the key or value at position `t`.
pub(super) struct Later<'a, R> {
    pub rollout: &'a Rollout<R>,
    pub sent: &'a [Vec<Sent<R>>],
    /// The cache, and which side of it.
    pub edge: (usize, Side),
    pub lane: usize,
    pub t: usize,
}

impl<R: Real> Later<'_, R> {
    pub fn shape(&self) -> Shape {
        self.rollout.caches[self.edge.0].shape
    }

    /// The sum over `queries`, in lanes, the last first. With `ahead`, the queries beyond the position's
    /// neighbours are summed for all of these at once.
    pub fn sum<'s>(
        &self,
        isa: Isa,
        queries: Range<usize>,
        ahead: Option<&mut Ahead<R>>,
        slot: &'s mut [R],
    ) -> &'s [R] {
        let (cache, side) = self.edge;
        let (steps, reads) = (self.rollout.steps(), &self.rollout.spec.reads);
        let credit = self.rollout.caches[cache].credit(&self.sent[cache][self.lane]);
        let len = credit.shape.slot_len();
        let slot = &mut slot[..len];
        let first = self.t / NEIGHBOURS * NEIGHBOURS;
        let beyond = first + NEIGHBOURS;
        let are_all = *reads == MemoryReads::All && queries.end == steps;
        let usable = are_all && queries.start <= beyond && beyond < steps;
        let attention = self.rollout.program().caches[cache].site;
        if !self.rollout.fixed.is_empty() || !self.rollout.program().step.active[attention] {
            // Queries whose result was fed from outside, or reaches nothing, send nothing.
            slot.fill(R::ZERO);
            for query in queries.rev().filter(|&q| self.sends(attention, q)) {
                credit.later(isa, side, self.t, query..query + 1, slot);
            }
        } else if let Some(ahead) = ahead.filter(|_| usable) {
            let half = &mut ahead.halves[side as usize];
            if half.first != Some(first) {
                credit.later_of_neighbours(isa, side, first, beyond..steps, &mut half.slots);
                half.first = Some(first);
            }
            slot.copy_from_slice(&half.slots[(self.t - first) * len..][..len]);
            credit.later(isa, side, self.t, queries.start..beyond, slot);
        } else {
            slot.fill(R::ZERO);
            credit.later(isa, side, self.t, queries, slot);
        }
        slot
    }
}

impl<R: Real> Later<'_, R> {
    fn sends(&self, attention: Site, query: usize) -> bool {
        self.rollout.program().step.active[attention] && !self.rollout.is_fixed(attention, query)
    }
}
