//! State and register edges: what a step receives from the one after it, and hands to the one
//! before.

use backcut_kernels::Real;

use super::SiteSeeds;
use crate::backward::workspace::Workspace;
use crate::credit::Passage;
use crate::forward::rollout::Rollout;
use crate::trace::Site;

impl<R: Real> Workspace<R> {
    /// Sets the adjoints that reach step `t` from outside it: handed back by step `t + 1`, the
    /// loss, and seeds.
    pub(super) fn receive_handed(&mut self, t: usize, seeds: &[SiteSeeds<'_, R>]) {
        let program = &self.program;
        let graph = &program.step;
        let adjoints = &mut self.adjoints;
        for &site in &graph.preset {
            let block = adjoints.block(site);
            adjoints.data[block].fill(R::ZERO);
        }
        let handed = program.states().iter().zip(&self.handed_states);
        for (carried, handed) in
            handed.chain(program.registers().iter().zip(&self.handed_registers))
        {
            if graph.active[carried.next] {
                let block = adjoints.block(carried.next);
                for (adjoint, &handed) in adjoints.data[block].iter_mut().zip(handed) {
                    *adjoint += handed;
                }
            }
        }
        for (index, group) in self.plan.groups.iter().enumerate() {
            let lane = group.first_lane;
            let seeds = seeds.get(index);
            if let Some(loss) = program.loss.filter(|&site| graph.active[site]) {
                let weight = seeds.map_or(R::ONE, |s| s.loss);
                let range = adjoints.range(loss, lane);
                adjoints.data[range].iter_mut().for_each(|a| *a += weight);
            }
            for (site, values) in seeds.iter().flat_map(|s| &s.taps) {
                let range = adjoints.range(*site, lane);
                let from = &values[t * range.len()..][..range.len()];
                for (adjoint, &seed) in adjoints.data[range].iter_mut().zip(from) {
                    *adjoint += seed;
                }
            }
        }
    }

    /// What step `t` hands back to step `t - 1` along state and register edges.
    pub(super) fn hand_back(&mut self, rollout: &Rollout<R>, t: usize) {
        let program = &self.program;
        let graph = &program.step;
        let alive = |read: Site| graph.active[read] && !rollout.is_fixed(read, t);
        let states = program.states().iter().zip(&mut self.handed_states);
        for (index, (carried, handed)) in states.enumerate() {
            handed.fill(R::ZERO);
            if !alive(carried.read) {
                continue;
            }
            let len = carried.width * self.rows;
            for group in &self.plan.groups {
                for passage in &group.resolved.states[index] {
                    for (lane, at) in group.lanes().enumerate() {
                        let beyond =
                            if passage.counts { group.state.beyond(lane) } else { Some(lane) };
                        let Some(beyond) = beyond else { continue };
                        let to = (group.first_lane + beyond) * len;
                        let from = &self.adjoints.data[self.adjoints.range(carried.read, at)];
                        pass(carried.width, passage, from, &mut handed[to..to + len]);
                    }
                }
            }
        }
        let registers = program.registers().iter().zip(&mut self.handed_registers);
        for (index, (carried, handed)) in registers.enumerate() {
            handed.fill(R::ZERO);
            if t == self.prefix || !alive(carried.read) {
                continue;
            }
            let len = carried.width * self.rows;
            for group in &self.plan.groups {
                let fate = group.credits.registers[index].fate(t - 1, t);
                if !fate.is_live() {
                    continue;
                }
                let factor = R::from_f64(fate.factor());
                for lane in group.lanes() {
                    let from = self.adjoints.range(carried.read, lane);
                    let to = &mut handed[lane * len..][..len];
                    for (to, &from) in to.iter_mut().zip(&self.adjoints.data[from]) {
                        *to = factor * from;
                    }
                }
            }
        }
    }
}

/// Hands on those columns of every row that a passage lets through.
fn pass<R: Real>(width: usize, passage: &Passage, from: &[R], to: &mut [R]) {
    let (columns, factor) = (passage.columns.clone(), R::from_f64(passage.factor));
    if columns.len() == width && passage.factor == 1.0 {
        to.copy_from_slice(from);
        return;
    }
    for (to, from) in to.chunks_exact_mut(width).zip(from.chunks_exact(width)) {
        for (to, &from) in to[columns.clone()].iter_mut().zip(&from[columns.clone()]) {
            // A closed edge passes nothing, not zero times what arrived.
            *to = if passage.factor == 0.0 { R::ZERO } else { factor * from };
        }
    }
}
