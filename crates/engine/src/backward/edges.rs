//! State and register edges: what a step receives from the one after it, and hands to the one before.

use backcut_kernels::Real;

use super::Resolved;
use crate::backward::workspace::Workspace;
use crate::forward::rollout::Rollout;
use crate::trace::Site;

impl<R: Real> Workspace<R> {
    /// Sets the adjoints that reach step `t` from outside it: handed back by step `t + 1`, the loss,
    /// and seeds.
    pub(super) fn receive_handed(&mut self, t: usize, seeds: &[Resolved<R>]) {
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
        for (carried, handed) in program.states().iter().zip(&mut self.handed_states) {
            handed.fill(R::ZERO);
            if !alive(carried.read) {
                continue;
            }
            let len = carried.width * self.rows;
            for group in &self.plan.groups {
                for (lane, at) in group.lanes().enumerate() {
                    let Some(beyond) = group.state.beyond(lane) else { continue };
                    let to = (group.first_lane + beyond) * len;
                    let from = self.adjoints.range(carried.read, at);
                    handed[to..to + len].copy_from_slice(&self.adjoints.data[from]);
                }
            }
        }
        for (carried, handed) in program.registers().iter().zip(&mut self.handed_registers) {
            handed.fill(R::ZERO);
            if t == self.prefix || !alive(carried.read) {
                continue;
            }
            let len = carried.width * self.rows;
            for group in &self.plan.groups {
                let fate = group.memory.fate(t - 1, t);
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
