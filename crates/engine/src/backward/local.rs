//! What an instruction is given in a backward pass.

use backcut_kernels::elementwise::Put;
use backcut_kernels::{Isa, Real};

use crate::backward::Adjoints;
use crate::backward::workspace::Workspace;
use crate::compile::graph::Graph;
use crate::forward::local::At;
use crate::forward::model::Model;
use crate::forward::rollout::{Record, Rollout};
use crate::trace::{Scope, Site};

/// An instruction's turn in a backward pass.
pub(crate) struct Backward<'a, R> {
    pub workspace: &'a mut Workspace<R>,
    pub model: &'a Model<R>,
    pub rollout: &'a Rollout<R>,
    pub at: At,
}

impl<'a, R: Real> Backward<'a, R> {
    pub fn graph(&self) -> &'a Graph {
        self.model.program().graph(self.at.scope)
    }

    pub fn record(&self) -> &'a Record<R> {
        self.rollout.record(self.at.scope)
    }

    /// All that an instruction needs whose derivative reads nothing beyond its own step.
    pub fn local(self) -> Adjoint<'a, R> {
        let (graph, record) = (self.graph(), self.record());
        let adjoints = match self.at.scope {
            Scope::Step => &mut self.workspace.adjoints,
            Scope::Condition => &mut self.workspace.condition_adjoints,
        };
        let Adjoints { lanes, rows, data, places, .. } = adjoints;
        let (start, len) = places[self.at.site];
        let (before, after) = data.split_at_mut(start);
        Adjoint {
            model: self.model,
            graph,
            at: self.at,
            lanes: *lanes,
            rows: *rows,
            own: &after[..len * *lanes],
            before,
            places,
            record,
        }
    }
}

/// Adjoints of an instruction's own step: its own to be read, its operands' to be written.
pub(crate) struct Adjoint<'a, R> {
    pub model: &'a Model<R>,
    pub graph: &'a Graph,
    pub at: At,
    pub lanes: usize,
    pub rows: usize,
    own: &'a [R],
    before: &'a mut [R],
    /// Start and length of one lane, for each site.
    places: &'a [(usize, usize)],
    record: &'a Record<R>,
}

impl<'a, R: Real> Adjoint<'a, R> {
    pub fn isa(&self) -> Isa {
        self.model.isa()
    }

    /// Columns of its own value.
    pub fn width(&self) -> usize {
        self.graph.width(self.at.site)
    }

    /// How the `index`-th operand receives its adjoint; `None` if it receives nothing.
    pub fn put(&self, index: usize) -> Option<Put> {
        self.graph.flows[self.at.site][index].put()
    }

    pub fn value(&self, site: Site) -> &'a [R] {
        &self.record.values[self.record.frame.range(site, self.at.t)]
    }

    /// What a site saved in the forward.
    pub fn saved(&self, site: Site) -> &'a [R] {
        &self.record.saved[self.record.frame.saved(site, self.at.t)]
    }

    pub fn constants(&self) -> &'a [R] {
        &self.model.constants(self.at.scope)[self.graph.constants(self.at.site)]
    }

    /// Its own adjoint and an operand's, all lanes.
    pub fn to(&mut self, operand: Site) -> (&'a [R], &mut [R]) {
        let (start, len) = self.places[operand];
        (self.own, &mut self.before[start..start + len * self.lanes])
    }

    /// The same, lane by lane: where a lane meets values, which all lanes share.
    pub fn each_lane(&mut self, operand: Site, mut send: impl FnMut(&[R], &mut [R])) {
        let own = self.places[self.at.site].1;
        let (start, len) = self.places[operand];
        for lane in 0..self.lanes {
            let to = &mut self.before[start + lane * len..start + (lane + 1) * len];
            send(&self.own[lane * own..(lane + 1) * own], to);
        }
    }
}
