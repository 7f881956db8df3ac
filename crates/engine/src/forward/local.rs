//! What an instruction is given in a roll.

use backcut_kernels::{Isa, Real};

use crate::compile::graph::{Frame, Graph};
use crate::forward::model::Model;
use crate::forward::rollout::{Record, Rollout};
use crate::trace::{Scope, Site};

/// Which instruction, and when; the condition has one step, 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct At {
    pub scope: Scope,
    pub site: Site,
    pub t: usize,
}

impl At {
    pub fn step(site: Site, t: usize) -> Self {
        Self { scope: Scope::Step, site, t }
    }

    pub fn condition(site: Site) -> Self {
        Self { scope: Scope::Condition, site, t: 0 }
    }
}

/// An instruction's turn in a roll.
pub(crate) struct Forward<'a, R> {
    pub model: &'a Model<R>,
    pub rollout: &'a mut Rollout<R>,
    pub at: At,
}

impl<'a, R: Real> Forward<'a, R> {
    /// All that an instruction needs that reads nothing beyond its own step.
    pub fn local(self) -> Values<'a, R> {
        let record = match self.at.scope {
            Scope::Step => &mut self.rollout.step,
            Scope::Condition => &mut self.rollout.condition,
        };
        Values::new(self.model, record, self.at)
    }
}

/// Values of an instruction's own step: those before it to be read, its own to be written.
pub(crate) struct Values<'a, R> {
    pub model: &'a Model<R>,
    pub graph: &'a Graph,
    pub at: At,
    pub out: &'a mut [R],
    /// What it saves for its derivative.
    pub saved: &'a mut [R],
    frame: &'a Frame,
    before: &'a [R],
}

impl<'a, R: Real> Values<'a, R> {
    pub fn new(model: &'a Model<R>, record: &'a mut Record<R>, at: At) -> Self {
        let Record { frame, values, saved } = record;
        let own = frame.range(at.site, at.t);
        let (before, after) = values.split_at_mut(frame.at(at.site, 0));
        let start = own.start - before.len();
        Self {
            graph: model.program().graph(at.scope),
            out: &mut after[start..start + own.len()],
            saved: &mut saved[frame.saved(at.site, at.t)],
            model,
            at,
            frame,
            before,
        }
    }

    pub fn isa(&self) -> Isa {
        self.model.isa()
    }

    /// Columns of its own value.
    pub fn width(&self) -> usize {
        self.graph.width(self.at.site)
    }

    pub fn rows(&self) -> usize {
        self.frame.rows
    }

    pub fn value(&self, operand: Site) -> &'a [R] {
        &self.before[self.frame.range(operand, self.at.t)]
    }

    pub fn constants(&self) -> &'a [R] {
        &self.model.constants(self.at.scope)[self.graph.constants(self.at.site)]
    }
}
