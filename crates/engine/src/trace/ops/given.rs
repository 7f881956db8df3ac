//! What is there before a step runs: inputs and constants.

use super::{Op, Operation};
use crate::trace::{Scope, Trace, Var};

/// Values supplied from outside, anew at every step (or once, in the condition).
#[derive(Clone, PartialEq, Debug)]
pub struct Input(pub usize);

/// The same number everywhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant(pub f64);

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
}

impl Operation for Constant {
    const NAME: &str = "constant";
}
