//! A stop-gradient that is part of the program: no cut opens it.

use backcut_kernels::Real;
use backcut_kernels::elementwise::Put;

use super::{Backward, Drift, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// A value that passes no credit on.
#[derive(Clone, PartialEq, Debug)]
pub struct StopGradient(pub(crate) Site);

impl Var<'_> {
    /// The same value, through which no credit passes under any cut. What a cut may open or close is an edge of
    /// memory or state; this is part of the program.
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

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        at.out.copy_from_slice(at.value(self.0));
    }

    /// Nothing is sent; but if nobody sent anything before, what is there is of another step.
    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        if at.put(0) == Some(Put::Store) {
            at.to(self.0).1.fill(R::ZERO);
        }
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        Some(row.sites[self.0].iter().map(|x| x.detach()).collect())
    }
}
