//! Memory edges: near and far slots, and what a projection's weights collect.

use backcut_kernels::attention::{Credit, Leave, Own, Slots, attend_adjoint, leave_slot};
use backcut_kernels::{Isa, Real};

use super::fill;
use crate::forward::MemoryReads;
use crate::graph::Flow;
use crate::lanes::{Group, Weights};
use crate::model::Model;
use crate::program::{LinearSite, Side};
use crate::rollout::Rollout;
use crate::trace::Site;
use crate::workspace::Workspace;

impl<R: Real> Workspace<R> {
    /// Adds to a key's or value's adjoint what later queries of its own segment gave it.
    pub(super) fn collect_near(&mut self, isa: Isa, rollout: &Rollout<R>, site: Site, t: usize) {
        let program = &self.program;
        let width = program.step.width(site);
        for &(index, side) in &program.feeds[site] {
            let shape = rollout.caches[index].shape;
            for group in &self.plan.groups {
                if !later_reads(rollout, group, t, true) {
                    continue;
                }
                let slot = t - group.segment_start(self.prefix, t);
                for lane in group.first_lane..group.first_lane + group.lanes {
                    let waiting = &self.waiting[index][lane];
                    let from = match side {
                        Side::Key => &waiting.near_keys,
                        Side::Value => &waiting.near_values,
                    };
                    let range = self.adjoints.range(site, lane);
                    let target = &mut self.adjoints.data[range];
                    let len = shape.slot_len();
                    leave_slot(isa, shape, width, Leave::Add, &from[slot * len..][..len], target);
                }
            }
        }
    }

    /// Causal attention: own position, near slots (same segment), far slots (earlier segments).
    pub(super) fn attention(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        site: Site,
        [q, key, value]: [Site; 3],
        cache: usize,
        t: usize,
    ) {
        let graph = &self.program.step;
        let attended = &rollout.caches[cache];
        let record = &rollout.step;
        let (width, len) = (graph.width(site), graph.width(site) * self.rows);
        let reads = rollout.spec.reads_at(t);
        let flows = &graph.flows[site];
        let starts = [q, key, value].map(|s| self.adjoints.block(s).start);
        let lanes = self.plan.lanes;
        let query = &record.values[record.frame.range(q, t)];
        let (before, own) = self.adjoints.split(site);
        let (own_key, own_value) = self.own.split_at_mut(len);
        for lane in 0..lanes {
            let group = self.plan.group_of(lane);
            let boundary = group.segment_start(self.prefix, t);
            let waiting = &mut self.waiting[cache][lane];
            let near = (waiting.near_slots > 0).then_some(Slots {
                start: boundary,
                end: t,
                keys: &mut waiting.near_keys,
                values: &mut waiting.near_values,
            });
            let far = (waiting.far_slots > 0).then_some(Slots {
                start: self.prefix,
                end: boundary,
                keys: &mut waiting.far_keys,
                values: &mut waiting.far_values,
            });
            let own_position = Own { position: t, key: own_key, value: &mut own_value[..len] };
            let mut credit = Credit { own: Some(own_position), near, far };
            let dout = &own[lane * len..][..len];
            // A query that does not learn keeps its adjoint in its own, unread place.
            let dq = &mut before[starts[0] + lane * len..][..len];
            attend_adjoint(
                model.isa(),
                attended.shape,
                reads,
                width,
                query,
                &attended.cache,
                attended.probabilities_at(t),
                dout,
                dq,
                flows[0].adds(),
                &mut credit,
                &mut self.scratch,
            );
            for (start, flow, from) in
                [(starts[1], flows[1], &*own_key), (starts[2], flows[2], &own_value[..len])]
            {
                if flow != Flow::None {
                    fill(&mut before[start + lane * len..][..len], from, flow.adds());
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
        for (variant, ring) in self.rings[index].of_variant.iter_mut().enumerate() {
            let Some(ring) = ring else { continue };
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
            let keep_far = described.weights == Weights::Keep
                && !linear.role.projections.is_empty()
                && later_reads(rollout, group, t, false);
            for (i, lane) in (group.first_lane..group.first_lane + group.lanes).enumerate() {
                let from = &self.adjoints.data[self.adjoints.range(linear.site, lane)];
                if keep_far {
                    // own and near first, then far: one order for every cut and number of lanes.
                    let full = &mut self.own[..len];
                    full.copy_from_slice(from);
                    for &(cache, side) in &linear.role.projections {
                        let waiting = &self.waiting[cache][lane];
                        let far = match side {
                            Side::Key => &waiting.far_keys,
                            Side::Value => &waiting.far_values,
                        };
                        let shape = rollout.caches[cache].shape;
                        let position = t - self.prefix;
                        let far = &far[position * shape.slot_len()..][..shape.slot_len()];
                        leave_slot(isa, shape, linear.n_out, Leave::Add, far, full);
                    }
                    fill(ring, full, i > 0);
                } else {
                    fill(ring, from, i > 0);
                }
            }
        }
        // What the stored representation receives across segment boundaries.
        for group in plan.groups.iter().filter(|g| g.alpha > 0.0) {
            if linear.role.projections.is_empty() || !later_reads(rollout, group, t, false) {
                continue;
            }
            let alpha = R::from_f64(group.alpha);
            for lane in group.first_lane..group.first_lane + group.lanes {
                for &(cache, side) in &linear.role.projections {
                    let waiting = &self.waiting[cache][lane];
                    let far = match side {
                        Side::Key => &waiting.far_keys,
                        Side::Value => &waiting.far_values,
                    };
                    let shape = rollout.caches[cache].shape;
                    let range = self.adjoints.range(linear.site, lane);
                    let target = &mut self.adjoints.data[range];
                    let position = t - self.prefix;
                    let far = &far[position * shape.slot_len()..][..shape.slot_len()];
                    leave_slot(isa, shape, linear.n_out, Leave::Scaled(alpha), far, target);
                }
            }
        }
    }
}

/// Whether some later query reads position `t`: in the same segment (`near`) or a later one.
fn later_reads<R: Real>(rollout: &Rollout<R>, group: &Group, t: usize, near: bool) -> bool {
    let prefix = rollout.spec.prefix;
    let end = (group.segment_start(prefix, t) + group.segment).min(rollout.steps());
    if rollout.spec.reads == MemoryReads::All {
        return if near { t + 1 < end } else { end < rollout.steps() };
    }
    let mut queries = if near { t + 1..end } else { end..rollout.steps() };
    queries.any(|query| rollout.spec.is_read(query, t))
}
