//! What parameters receive: one product per linear site and chunk of steps, norms, and the end of a
//! pass.

use backcut_kernels::norm::layer_norm_gradient;
use backcut_kernels::product::{Blocks, bias_gradient, weight_gradient};
use backcut_kernels::{Aligned, Real};

use super::{Adjoints, add};
use crate::backward::collected::{Collected, Source};
use crate::backward::workspace::Workspace;
use crate::compile::linears::LinearSite;
use crate::credit::Fate;
use crate::forward::local::At;
use crate::forward::model::Model;
use crate::forward::rollout::Rollout;
use crate::trace::Scope;
use crate::trace::ops::LayerNorm;

impl<R: Real> Workspace<R> {
    /// A linear site whose value was overridden: its weights receive nothing at this step.
    pub(super) fn silence_weights(&mut self, index: usize, t: usize) {
        let len = self.program.linears[index].n_out * self.rows;
        let slot = (t - self.prefix) % self.chunk * len;
        for ring in self.collected[index].of_variant.iter_mut().filter_map(Source::ring) {
            ring[slot..slot + len].fill(R::ZERO);
        }
    }

    /// What a layer norm's gain and bias receive at a step.
    pub(crate) fn norm_gradient(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        norm: &LayerNorm,
        At { scope, site, t }: At,
    ) {
        let (record, &LayerNorm { gain, bias, .. }) = (rollout.record(scope), norm);
        let x = &record.values[record.frame.range(norm.x, t)];
        let saved = &record.saved[record.frame.saved(site, t)];
        let graph = self.program.graph(scope);
        let adjoints = match scope {
            Scope::Step => &self.adjoints,
            Scope::Condition => &self.condition_adjoints,
        };
        let parameters = self.program.layout().parameters();
        let width = graph.width(site);
        for (index, variant) in self.plan.variants.iter().enumerate() {
            if variant.leader != index && !self.split[gain] && !self.split[bias] {
                continue;
            }
            let group = &self.plan.groups[variant.group];
            let total = &mut self.totals[index];
            let (low, high) = (gain.min(bias), gain.max(bias));
            let (head, tail) = total.split_at_mut(parameters[high].offset);
            let first = &mut head[parameters[low].range()];
            let second = &mut tail[..parameters[high].len()];
            let (dgain, dbias) = if gain < bias { (first, second) } else { (second, first) };
            for lane in group.lanes() {
                let dy = &adjoints.data[adjoints.range(site, lane)];
                layer_norm_gradient(model.isa(), width, x, saved, dy, dgain, dbias);
            }
        }
    }

    /// One weight product per linear site for the chunk of steps that begins at `t`.
    pub(super) fn flush(&mut self, model: &Model<R>, rollout: &Rollout<R>, t: usize) {
        let program = &self.program;
        let blocks = self.chunk.min(self.steps - t);
        for (linear, collected) in program.linears.iter().zip(&mut self.collected) {
            if !program.step.active[linear.site] {
                continue;
            }
            let start = rollout.step.frame.at(linear.x, t);
            let x = &rollout.step.values[start..][..blocks * self.rows * linear.n_in];
            let totals = &mut self.totals;
            let registers = &linear.role.registers;
            let drops = |variant: usize| {
                let tables = &self.plan.variants[variant].credits.registers;
                registers.iter().any(|(register, _)| tables[*register].has_dropped())
            };
            weight_product(
                model,
                linear,
                collected,
                &self.adjoints,
                totals,
                blocks,
                x,
                |variant| !drops(variant),
            );
            for variant in (0..totals.len()).filter(|&variant| drops(variant)) {
                // The columns of a register whose edge is dropped teach their weights nothing.
                let masked = &mut self.masked[..x.len()];
                masked.copy_from_slice(x);
                let tables = &self.plan.variants[variant].credits.registers;
                for (register, columns) in registers {
                    let (read, table) = (program.registers[*register].read, &tables[*register]);
                    let rows = masked.chunks_exact_mut(self.rows * linear.n_in);
                    for (t, rows) in (t..).zip(rows) {
                        let is_edge = t > self.prefix && !rollout.is_fixed(read, t);
                        if is_edge && table.fate(t - 1, t) == Fate::Dropped {
                            let rows = rows.chunks_exact_mut(linear.n_in);
                            rows.for_each(|row| row[columns.clone()].fill(R::ZERO));
                        }
                    }
                }
                let only = |other| other == variant;
                let adjoints = &self.adjoints;
                weight_product(model, linear, collected, adjoints, totals, blocks, masked, only);
            }
        }
    }

    /// Adds what was accumulated aside, and gives variants what they share with their leader.
    pub(super) fn finish(&mut self) {
        let program = &self.program;
        let parameters = program.layout().parameters();
        let linears = program.linears.iter().chain(&program.condition_linears);
        let collected = self.collected.iter().chain(&self.condition_collected);
        for (linear, collected) in linears.zip(collected) {
            for (variant, aside) in collected.aside.iter().enumerate() {
                let Some(aside) = aside else { continue };
                let (weight, bias) = aside.split_at(linear.n_in * linear.n_out);
                let total = &mut self.totals[variant];
                add(&mut total[parameters[linear.weight].range()], weight);
                if let Some(id) = linear.bias {
                    add(&mut total[parameters[id].range()], bias);
                }
            }
        }
        for (index, variant) in self.plan.variants.iter().enumerate() {
            if variant.leader == index {
                continue;
            }
            let (head, tail) = self.totals.split_at_mut(index);
            let (from, to) = (&head[variant.leader], &mut tail[0]);
            for (parameter, _) in parameters.iter().zip(&self.split).filter(|(_, split)| !**split) {
                to[parameter.range()].copy_from_slice(&from[parameter.range()]);
            }
        }
    }
}

pub(super) fn weight_product<R: Real>(
    model: &Model<R>,
    linear: &LinearSite,
    collected: &mut Collected<R>,
    adjoints: &Adjoints<R>,
    totals: &mut [Aligned<R>],
    blocks: usize,
    x: &[R],
    of_variant: impl Fn(usize) -> bool,
) {
    let parameters = model.program().layout().parameters();
    let (isa, rows) = (model.isa(), adjoints.rows);
    let (n_in, n_out) = (linear.n_in, linear.n_out);
    let sources = collected.of_variant.iter().enumerate();
    for (variant, source) in sources.filter(|(variant, _)| of_variant(*variant)) {
        let dy = match source {
            Source::Leader => continue,
            Source::Lane(lane) => adjoints.chunk(linear.site, *lane),
            Source::Ring(ring) => Blocks::dense(ring, rows * n_out),
        };
        if let Some(aside) = &mut collected.aside[variant] {
            let (weight, bias) = aside.split_at_mut(n_in * n_out);
            weight_gradient(isa, blocks, rows, n_in, n_out, x, dy, weight);
            if linear.bias.is_some() {
                bias_gradient(isa, blocks, rows, n_out, dy, bias);
            }
        } else {
            let total = &mut totals[variant];
            let weight = &mut total[parameters[linear.weight].range()];
            weight_gradient(isa, blocks, rows, n_in, n_out, x, dy, weight);
            if let Some(id) = linear.bias {
                bias_gradient(isa, blocks, rows, n_out, dy, &mut total[parameters[id].range()]);
            }
        }
    }
}
