//! What is there before a step runs: inputs and constants.

use backcut_kernels::Real;

use super::{Backward, Forward, Op, Operation};
use crate::oracle::{Columns, Row, Scalar};
use crate::trace::{Scope, Site, Trace, Var};

/// Values supplied from outside, anew at every step (or once, in the condition).
#[derive(Clone, PartialEq, Debug)]
pub struct Input(pub(crate) usize);

/// The same number everywhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant(pub(crate) f64);

impl Trace {
    /// The same number in `width` columns.
    pub fn constant(&self, value: f64, width: usize) -> Var<'_> {
        self.push(Scope::Step, Constant(value), width, "constant")
    }
}

impl Op {
    /// Whether its value is there before the step runs.
    pub(crate) fn is_given(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Constant(_))
    }
}

impl Operation for Input {
    const NAME: &str = "input";

    fn operands(&self) -> Vec<Site> {
        Vec::new()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    /// Written by the caller, before the roll.
    fn forward<R: Real>(&self, _now: Forward<'_, R>) {}

    fn backward<R: Real>(&self, _now: Backward<'_, R>) {}
}

impl Operation for Constant {
    const NAME: &str = "constant";

    fn operands(&self) -> Vec<Site> {
        Vec::new()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    /// Written once, when the rollout's storage is made.
    fn forward<R: Real>(&self, _now: Forward<'_, R>) {}

    fn backward<R: Real>(&self, _now: Backward<'_, R>) {}

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        Some(vec![Scalar::constant(self.0); row.width])
    }
}
