//! Naming the instruction, step, row and edge of a non-finite adjoint.

use std::ops::Range;

use backcut_kernels::attention::Side;
use backcut_kernels::{Isa, Real};

use super::memory::{Place, readers};
use crate::backward::workspace::Workspace;
use crate::credit::BackwardError;
use crate::fault::{Fault, Phase};
use crate::forward::rollout::Rollout;
use crate::trace::Site;

impl<R: Real> Workspace<R> {
    pub(super) fn check_adjoint(
        &self,
        isa: Isa,
        rollout: &Rollout<R>,
        site: Site,
        t: usize,
    ) -> Result<(), BackwardError> {
        let graph = &self.program.step;
        let node = &graph.nodes[site];
        for lane in 0..self.plan.lanes {
            let values = &self.adjoints.data[self.adjoints.range(site, lane)];
            if let Some(mut fault) = Fault::find(Phase::Backward, node, t, values) {
                fault.edge = Some(self.arriving_edge(isa, rollout, site, t, lane));
                return Err(BackwardError::NonFinite(fault));
            }
            for &(cache, side) in &self.program.feeds[site] {
                let far = self.plan.group_of(lane).credits.cache((cache, side)).far(t);
                if self.is_bad(isa, rollout, (cache, side), lane, t, far) {
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

    /// The kind of edge that brought a bad adjoint to `site`: from a later step, or within the
    /// step.
    fn arriving_edge(
        &self,
        isa: Isa,
        rollout: &Rollout<R>,
        site: Site,
        t: usize,
        lane: usize,
    ) -> String {
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
        for &(cache, side) in &program.feeds[site] {
            let near = self.plan.group_of(lane).credits.cache((cache, side)).near(t);
            if self.is_bad(isa, rollout, (cache, side), lane, t, near) {
                let name = &program.caches[cache].name;
                return format!("memory edge `{name}` from later steps to step {t}");
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

    /// Whether later queries gave a position something bad.
    fn is_bad(
        &self,
        isa: Isa,
        rollout: &Rollout<R>,
        edge: (usize, Side),
        lane: usize,
        t: usize,
        spans: impl Iterator<Item = Range<usize>> + Clone,
    ) -> bool {
        let place = Place { rollout, sent: &self.sent, edge, lane, t };
        let mut slot = vec![R::ZERO; place.shape().slot_len()];
        readers(rollout, t, spans).is_some_and(|queries| {
            place.sum(isa, queries, None, &mut slot).iter().any(|v| !v.is_finite())
        })
    }
}
