//! A stop-gradient that is part of the program: no cut opens it.

use super::{Drift, Operation};
use crate::trace::{Site, Var};

/// A value that passes no credit on.
#[derive(Clone, PartialEq, Debug)]
pub struct StopGradient(pub Site);

impl Var<'_> {
    /// The same value, through which no credit passes under any cut. What a cut may open or close
    /// is an edge of memory or state; this is part of the program.
    pub fn stop_gradient(self) -> Self {
        self.push(StopGradient(self.site()), self.width())
    }
}

impl Operation for StopGradient {
    const NAME: &str = "stop gradient";

    // Of something without a derivative: random programs are compared with finite differences too.
    const DRIFT: Option<Drift> =
        Some(|_, bounded| bounded * (bounded + 1.5).positive().stop_gradient());

    fn operands(&self) -> Vec<Site> {
        vec![self.0]
    }
}
