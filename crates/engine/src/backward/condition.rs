//! The condition's backward: once per lane, after the last step.

use backcut_kernels::Real;
use backcut_kernels::attention::Leave;

use super::fill;
use super::weights::weight_product;
use crate::backward::local::Backward;
use crate::backward::workspace::Workspace;
use crate::forward::local::At;
use crate::forward::model::Model;
use crate::forward::rollout::Rollout;

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
            let (op, at) = (&graph.nodes[site].op, At::condition(site));
            op.backward(Backward { workspace: self, model, rollout, at });
        }
    }

    fn condition_weights(&mut self, model: &Model<R>, rollout: &Rollout<R>, index: usize) {
        let program = &self.program;
        let linear = &program.condition_linears[index];
        let collected = &mut self.condition_collected[index];
        for (variant, source) in collected.of_variant.iter_mut().enumerate() {
            let Some(ring) = source.ring() else { continue };
            let group = &self.plan.groups[self.plan.variants[variant].group];
            for (i, lane) in group.lanes().enumerate() {
                let range = self.condition_adjoints.range(linear.site, lane);
                fill(ring, &self.condition_adjoints.data[range], i > 0);
            }
        }
        let x = &rollout.condition.values[rollout.condition.frame.range(linear.x, 0)];
        let (adjoints, totals) = (&self.condition_adjoints, &mut self.totals);
        weight_product(model, linear, collected, adjoints, totals, 1, x, |_| true);
    }
}
