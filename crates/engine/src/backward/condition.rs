//! The condition's backward: once per lane, after the last step.

use backcut_kernels::Real;
use backcut_kernels::attention::{Credit, Leave, Reads, Slots, attend_adjoint, leave_slot};

use super::fill;
use super::weights::weight_product;
use crate::graph::Flow;
use crate::local;
use crate::model::Model;
use crate::roll::position;
use crate::rollout::Rollout;
use crate::trace::{Op, Site};
use crate::workspace::Workspace;

impl<R: Real> Workspace<R> {
    pub(super) fn run_condition(&mut self, model: &Model<R>, rollout: &Rollout<R>) {
        let program = self.program.clone();
        let (graph, tokens) = (&program.condition, program.tokens);
        if graph.nodes.is_empty() {
            return;
        }
        for (index, cross) in program.crosses.iter().enumerate() {
            let shape = rollout.crosses[index].shape;
            let width = cross.heads * cross.dim;
            for (lane, waiting) in self.crosses[index].iter().enumerate() {
                for (site, from) in
                    [(cross.key, &waiting.near_keys), (cross.value, &waiting.near_values)]
                {
                    if !graph.active[site] {
                        continue;
                    }
                    let range = self.condition_adjoints.range(site, lane);
                    let target = &mut self.condition_adjoints.data[range];
                    for token in 0..tokens {
                        let target = &mut target[token * width..];
                        let slot = &from[token * shape.slot_len()..][..shape.slot_len()];
                        leave_slot(model.isa(), shape, tokens * width, Leave::Add, slot, target);
                    }
                }
            }
        }
        let mut linear = program.condition_linears.len();
        for site in (0..graph.nodes.len()).rev() {
            let is_linear = linear > 0 && program.condition_linears[linear - 1].site == site;
            if is_linear {
                linear -= 1;
            }
            if !graph.active[site] {
                continue;
            }
            if is_linear {
                self.condition_weights(model, rollout, linear);
            }
            match graph.nodes[site].op {
                Op::SetAttend { q, key, value, .. } => {
                    self.set_attention(model, rollout, site, [q, key, value]);
                }
                Op::LayerNorm { x, gain, bias } => {
                    let frame = &rollout.condition.frame;
                    let x = &rollout.condition.values[frame.range(x, 0)];
                    let saved = &rollout.condition.saved[frame.saved(site, 0)];
                    self.norm_gradient(model, site, x, saved, gain, bias, true);
                    self.local_condition(model, rollout, site);
                }
                _ => self.local_condition(model, rollout, site),
            }
        }
    }

    fn local_condition(&mut self, model: &Model<R>, rollout: &Rollout<R>, site: Site) {
        let constants = &model.condition_constants;
        local::adjoint(
            model,
            &self.program.condition,
            constants,
            &rollout.condition,
            &mut self.condition_adjoints,
            site,
            0,
        );
    }

    fn condition_weights(&mut self, model: &Model<R>, rollout: &Rollout<R>, index: usize) {
        let program = &self.program;
        let linear = &program.condition_linears[index];
        let rows = rollout.condition.frame.rows;
        let ring = &mut self.condition_rings[index];
        for (variant, ring) in ring.of_variant.iter_mut().enumerate() {
            let Some(ring) = ring else { continue };
            let group = &self.plan.groups[self.plan.variants[variant].group];
            for (i, lane) in (group.first_lane..group.first_lane + group.lanes).enumerate() {
                let range = self.condition_adjoints.range(linear.site, lane);
                fill(ring, &self.condition_adjoints.data[range], i > 0);
            }
        }
        let x = &rollout.condition.values[rollout.condition.frame.range(linear.x, 0)];
        weight_product(model, linear, ring, &mut self.totals, 1, rows, x);
    }

    fn set_attention(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        site: Site,
        [q, key, value]: [Site; 3],
    ) {
        let program = &self.program;
        let (graph, tokens) = (&program.condition, program.tokens);
        let index = position(&program.sets, site);
        let attended = &rollout.sets[index];
        let record = &rollout.condition;
        let width = graph.width(site);
        let len = width * record.frame.rows;
        let reads = Reads { lo: 0, hi: tokens, hidden: None };
        let flows = &graph.flows[site];
        let starts = [q, key, value].map(|s| self.condition_adjoints.block(s).start);
        let waiting = &mut self.sets[index];
        let (before, own) = self.condition_adjoints.split(site);
        let query = &record.values[record.frame.range(q, 0)];
        for (lane, dout) in own.chunks_exact(len).enumerate() {
            waiting.clear();
            for token in 0..tokens {
                let at = token * width;
                let mut credit = Credit {
                    own: None,
                    near: Some(Slots {
                        start: 0,
                        end: tokens,
                        keys: &mut waiting.near_keys,
                        values: &mut waiting.near_values,
                    }),
                    far: None,
                };
                let dq = &mut before[starts[0] + lane * len..][..len];
                attend_adjoint(
                    model.isa(),
                    attended.shape,
                    reads,
                    tokens * width,
                    &query[at..],
                    &attended.cache,
                    attended.probabilities_at(token),
                    &dout[at..],
                    &mut dq[at..],
                    flows[0].adds(),
                    &mut credit,
                    &mut self.scratch,
                );
            }
            for (start, flow, from) in [
                (starts[1], flows[1], &waiting.near_keys),
                (starts[2], flows[2], &waiting.near_values),
            ] {
                if flow == Flow::None {
                    continue;
                }
                let target = &mut before[start + lane * len..][..len];
                if !flow.adds() {
                    target.fill(R::ZERO);
                }
                for token in 0..tokens {
                    let target = &mut target[token * width..];
                    let shape = attended.shape;
                    let slot = &from[token * shape.slot_len()..][..shape.slot_len()];
                    leave_slot(model.isa(), shape, tokens * width, Leave::Add, slot, target);
                }
            }
        }
    }
}
