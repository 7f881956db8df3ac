//! Memory edges: what positions receive from near and far queries, and what a projection's weights
//! collect of it.

use std::ops::Range;

use backcut_kernels::attention::{Leave, NEIGHBOURS, Sent, Shape, Side, leave_slot};
use backcut_kernels::{Isa, Real};

use super::fill;
use crate::backward::lanes::Variant;
use crate::backward::workspace::{NeighbourSums, Workspace};
use crate::compile::linears::LinearSite;
use crate::forward::rollout::Rollout;
use crate::forward::rollout::spec::MemoryReads;
use crate::trace::Site;

impl<R: Real> Workspace<R> {
    /// Adds to a key's or value's adjoint what later queries of its own segment gave it.
    pub(super) fn collect_near(&mut self, isa: Isa, rollout: &Rollout<R>, site: Site, t: usize) {
        let width = self.program.step.width(site);
        for &edge in &self.program.feeds[site] {
            for group in &self.plan.groups {
                let near = group.credits.cache(edge).near(t);
                let Some(queries) = readers(rollout, t, near) else { continue };
                for lane in group.lanes() {
                    let range = self.adjoints.range(site, lane);
                    let target = &mut self.adjoints.data[range];
                    let place = Place { rollout, sent: &self.sent, edge, lane, t };
                    let sums = self.neighbour_sums[edge.0][lane].as_mut();
                    let slot = place.sum(isa, queries.clone(), sums, &mut self.scratch);
                    leave_slot(isa, place.shape(), width, Leave::Add, slot, target);
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
            let Variant { group, credits, .. } = &plan.variants[variant];
            let far = |edge| readers(rollout, t, credits.cache(edge).far(t));
            let edges = &linear.role.projections;
            let has_far = edges.iter().any(|&edge| far(edge).is_some());
            for (i, lane) in plan.groups[*group].lanes().enumerate() {
                let from = &self.adjoints.data[self.adjoints.range(linear.site, lane)];
                if has_far {
                    // own and near first, then far: one order for every cut and number of lanes.
                    let full = &mut self.own[..len];
                    full.copy_from_slice(from);
                    for &edge in edges {
                        let Some(queries) = far(edge) else { continue };
                        let place = Place { rollout, sent: &self.sent, edge, lane, t };
                        let sums = self.neighbour_sums[edge.0][lane].as_mut();
                        let slot = place.sum(isa, queries, sums, &mut self.scratch);
                        leave_slot(isa, place.shape(), linear.n_out, Leave::Add, slot, full);
                    }
                    fill(ring, full, i > 0);
                } else {
                    fill(ring, from, i > 0);
                }
            }
        }
        // What the stored representation receives of what its weights received.
        for group in &plan.groups {
            for &edge in &linear.role.projections {
                for (share, queries) in group.credits.cache(edge).scaled(t) {
                    let queries = std::iter::once(queries);
                    let Some(queries) = readers(rollout, t, queries) else { continue };
                    let how = Leave::Scaled(R::from_f64(share));
                    for lane in group.lanes() {
                        let range = self.adjoints.range(linear.site, lane);
                        let target = &mut self.adjoints.data[range];
                        let place = Place { rollout, sent: &self.sent, edge, lane, t };
                        let sums = self.neighbour_sums[edge.0][lane].as_mut();
                        let slot = place.sum(isa, queries.clone(), sums, &mut self.scratch);
                        leave_slot(isa, place.shape(), linear.n_out, how, slot, target);
                    }
                }
            }
        }
    }
}

/// Those of the given spans of later queries that may read position `t`; `None` if no query does.
pub(super) fn readers<R: Real>(
    rollout: &Rollout<R>,
    t: usize,
    spans: impl Iterator<Item = Range<usize>> + Clone,
) -> Option<impl Iterator<Item = Range<usize>> + Clone> {
    let end = match &rollout.spec.reads {
        MemoryReads::Window(w) => t + w.get(),
        MemoryReads::All | MemoryReads::Mask(_) => rollout.steps(),
    };
    let spans = spans.map(move |queries| queries.start..queries.end.min(end));
    // Masked queries among the others send zeros.
    spans.clone().flatten().any(|query| rollout.spec.is_read(query, t)).then_some(spans)
}

/// A key or value at position `t`, in one lane, to which later queries sent something.
pub(super) struct Place<'a, R> {
    pub rollout: &'a Rollout<R>,
    pub sent: &'a [Vec<Sent<R>>],
    /// The cache, and which side of it.
    pub edge: (usize, Side),
    pub lane: usize,
    pub t: usize,
}

impl<R: Real> Place<'_, R> {
    pub fn shape(&self) -> Shape {
        self.rollout.caches[self.edge.0].shape
    }

    /// What the queries of all `spans` sent, the last first, in lanes. With `sums`, the queries
    /// beyond the position's neighbours are summed for all of these at once.
    pub fn sum<'s>(
        &self,
        isa: Isa,
        spans: impl Iterator<Item = Range<usize>>,
        mut sums: Option<&mut NeighbourSums<R>>,
        slot: &'s mut [R],
    ) -> &'s [R] {
        let (cache, side) = self.edge;
        let (steps, reads) = (self.rollout.steps(), &self.rollout.spec.reads);
        let credit = self.rollout.caches[cache].credit(&self.sent[cache][self.lane]);
        let len = credit.shape.slot_len();
        let slot = &mut slot[..len];
        slot.fill(R::ZERO);
        let attention = self.rollout.program().caches[cache].site;
        let is_active = self.rollout.program().step.active[attention];
        let is_fed = self.rollout.fixed.iter().any(|fixed| fixed.site == attention);
        let first = self.t / NEIGHBOURS * NEIGHBOURS;
        let beyond = first + NEIGHBOURS;
        let reach_the_end = |queries: &Range<usize>| {
            let are_all = *reads == MemoryReads::All && queries.end == steps;
            are_all && queries.start <= beyond && beyond < steps
        };
        for queries in spans {
            if is_fed || !is_active {
                // Queries whose result was fed from outside, or reaches nothing, send nothing.
                let sends = |query: &usize| is_active && !self.rollout.is_fixed(attention, *query);
                for query in queries.rev().filter(sends) {
                    credit.later(isa, side, self.t, query..query + 1, slot);
                }
            } else if let Some(sums) = sums.as_deref_mut().filter(|_| reach_the_end(&queries)) {
                let sums = &mut sums.sides[side as usize];
                if sums.first != Some(first) {
                    credit.later_of_neighbours(isa, side, first, beyond..steps, &mut sums.slots);
                    sums.first = Some(first);
                }
                // The last queries come first: nothing was summed before.
                slot.copy_from_slice(&sums.slots[(self.t - first) * len..][..len]);
                credit.later(isa, side, self.t, queries.start..beyond, slot);
            } else {
                credit.later(isa, side, self.t, queries, slot);
            }
        }
        slot
    }
}
