//! A value of the step being traced. Its methods stand with the instructions they record (`ops`).

use super::{Scope, Site, Trace};
use crate::trace::ops::Op;

/// A value of the step: one row per trajectory, [`Var::width`] columns.
#[derive(Clone, Copy)]
pub struct Var<'t> {
    trace: &'t Trace,
    scope: Scope,
    site: Site,
}

impl<'t> Var<'t> {
    pub(super) fn new(trace: &'t Trace, scope: Scope, site: Site) -> Self {
        Self { trace, scope, site }
    }

    pub(crate) fn trace(self) -> &'t Trace {
        self.trace
    }

    pub(crate) fn site(self) -> Site {
        self.site
    }

    pub(crate) fn scope(self) -> Scope {
        self.scope
    }

    /// Columns.
    pub fn width(self) -> usize {
        self.trace.width_of(self.scope, self.site)
    }

    /// Records an instruction in this value's graph, under its own name.
    pub(crate) fn push(self, op: impl Into<Op>, width: usize) -> Self {
        let op = op.into();
        let label = op.name();
        self.trace.push(self.scope, op, width, label)
    }
}
