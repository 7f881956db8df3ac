//! The condition's backward: once per lane, after the last step.

use backcut_kernels::Real;
use backcut_kernels::attention::{Leave, Reads, attend_adjoint, spread_credit};

use super::fill;
use super::memory::leave;
use super::weights::weight_product;
use crate::graph::Flow;
use crate::local;
use crate::model::Model;
use crate::roll::position;
use crate::rollout::Rollout;
use crate::trace::{Op, Site};
use crate::workspace::{Tokens, Workspace};

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
            for (lane, sums) in self.crosses[index].iter().enumerate() {
                for (site, from) in [(cross.key, &sums.keys), (cross.value, &sums.values)] {
                    if !graph.active[site] {
                        continue;
                    }
                    let range = self.condition_adjoints.range(site, lane);
                    let target = &mut self.condition_adjoints.data[range];
                    for token in 0..tokens {
                        let target = &mut target[token * width..];
                        from.leave(model.isa(), shape, token, tokens * width, Leave::Add, target);
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
        let collected = &mut self.condition_collected[index];
        for (variant, source) in collected.of_variant.iter_mut().enumerate() {
            let Some(ring) = source.ring() else { continue };
            let group = &self.plan.groups[self.plan.variants[variant].group];
            for (i, lane) in (group.first_lane..group.first_lane + group.lanes).enumerate() {
                let range = self.condition_adjoints.range(linear.site, lane);
                fill(ring, &self.condition_adjoints.data[range], i > 0);
            }
        }
        let x = &rollout.condition.values[rollout.condition.frame.range(linear.x, 0)];
        let (adjoints, totals) = (&self.condition_adjoints, &mut self.totals);
        weight_product(model, linear, collected, adjoints, totals, 1, x);
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
        let Tokens { keys, values, sent } = &mut self.sets[index];
        let (isa, shape, stride) = (model.isa(), attended.shape, tokens * width);
        let (before, own) = self.condition_adjoints.split(site);
        for (lane, dout) in own.chunks_exact(len).enumerate() {
            keys.clear();
            values.clear();
            for token in 0..tokens {
                let at = token * width;
                let dq = &mut before[starts[0] + lane * len..][..len];
                let p = attended.probabilities_at(token);
                attend_adjoint(
                    isa,
                    shape,
                    reads,
                    stride,
                    0,
                    &attended.cache,
                    p,
                    &dout[at..],
                    &mut dq[at..],
                    leave(flows[0]),
                    sent,
                    &mut self.scratch,
                );
                let query = (&attended.queries, token);
                spread_credit(isa, shape, reads, query, p, (sent, 0), keys, values);
            }
            for (start, flow, from) in
                [(starts[1], flows[1], &*keys), (starts[2], flows[2], &*values)]
            {
                if flow == Flow::None {
                    continue;
                }
                let target = &mut before[start + lane * len..][..len];
                if !flow.adds() {
                    target.fill(R::ZERO);
                }
                for token in 0..tokens {
                    let target = &mut target[token * width..];
                    from.leave(isa, shape, token, stride, Leave::Add, target);
                }
            }
        }
    }
}
