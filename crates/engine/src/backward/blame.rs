//! Naming the instruction, step, row and edge of a non-finite adjoint.

use backcut_kernels::Real;

use super::BackwardError;
use crate::fault::{Fault, Phase};
use crate::program::Side;
use crate::trace::Site;
use crate::workspace::Workspace;

impl<R: Real> Workspace<R> {
    pub(super) fn check_adjoint(&self, site: Site, t: usize) -> Result<(), BackwardError> {
        let graph = &self.program.step;
        let node = &graph.nodes[site];
        for lane in 0..self.plan.lanes {
            let values = &self.adjoints.data[self.adjoints.range(site, lane)];
            if let Some(mut fault) = Fault::find(Phase::Backward, node, t, values) {
                fault.edge = Some(self.arriving_edge(site, t, lane));
                return Err(BackwardError::NonFinite(fault));
            }
            for &(cache, side) in &self.program.feeds[site] {
                let waiting = &self.waiting[cache][lane];
                let far = match side {
                    Side::Key => &waiting.far_keys,
                    Side::Value => &waiting.far_values,
                };
                let len = far.len() / waiting.far_slots.max(1);
                let slot = far.get((t - self.prefix) * len..).and_then(|far| far.get(..len));
                if slot.is_some_and(|slot| slot.iter().any(|v| !v.is_finite())) {
                    let name = &self.program.caches[cache].name;
                    let edge = format!("memory edge `{name}` from later segments to step {t}");
                    return Err(BackwardError::NonFinite(Fault {
                        phase: Phase::Backward,
                        instruction: format!("{} `{}`", node.op.name(), node.label),
                        step: t,
                        row: 0,
                        column: 0,
                        value: f64::NAN,
                        edge: Some(edge),
                    }));
                }
            }
        }
        Ok(())
    }

    /// The kind of edge that brought a bad adjoint to `site`: from a later step, or within the step.
    fn arriving_edge(&self, site: Site, t: usize, lane: usize) -> String {
        let program = &self.program;
        let bad = |values: &[R]| values.iter().any(|v| !v.is_finite());
        let handed = program.states().iter().zip(&self.handed_states).map(|h| (h, "state"));
        let stored = program.registers().iter().zip(&self.handed_registers).map(|h| (h, "memory"));
        for ((carried, values), kind) in handed.chain(stored) {
            let len = carried.width * self.rows;
            if carried.next == site && bad(&values[lane * len..][..len]) {
                return format!("{kind} edge `{}` from step {} to step {t}", carried.name, t + 1);
            }
        }
        for (cache, waiting) in program.caches.iter().zip(&self.waiting) {
            let waiting = &waiting[lane];
            let is_bad = (site == cache.key && bad(&waiting.near_keys))
                || (site == cache.value && bad(&waiting.near_values));
            if is_bad {
                return format!("memory edge `{}` from later steps to step {t}", cache.name);
            }
        }
        // Their sum is bad; where several readers sent something, each is named.
        let readers = program.nodes().iter().enumerate().skip(site + 1);
        let senders: Vec<String> = readers
            .filter(|(_, node)| node.op.operands().contains(&site))
            .filter(|&(reader, _)| {
                let range = self.adjoints.range(reader, lane);
                let sent = self.adjoints.data[range].iter().any(|v| *v != R::ZERO);
                program.step.active[reader] && sent
            })
            .map(|(_, node)| format!("{} `{}`", node.op.name(), node.label))
            .collect();
        match senders.as_slice() {
            [] => "a seed or the loss".to_owned(),
            [only] => format!("the edge from {only} of the same step"),
            several => format!("one of the edges from {} of the same step", several.join(", ")),
        }
    }
}
