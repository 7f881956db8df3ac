//! A function of one argument, applied to every element.

use super::{Function, Operation};
use crate::trace::{Site, Var};

/// A function of one argument.
#[derive(Clone, PartialEq, Debug)]
pub struct Unary {
    pub function: Function,
    pub x: Site,
}

impl Var<'_> {
    /// Applies a function of one argument.
    pub(crate) fn apply(self, function: Function) -> Self {
        self.push(Unary { function, x: self.site() }, self.width())
    }
}

impl Operation for Unary {
    const NAME: &str = "function";

    fn name(&self) -> &'static str {
        self.function.name()
    }

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn derivative_reads(&self, own: Site) -> Vec<Site> {
        let reads = self.function.reads();
        [(reads.x, self.x), (reads.y, own)].into_iter().filter(|r| r.0).map(|r| r.1).collect()
    }
}
