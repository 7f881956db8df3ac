//! The sum of the columns.

use backcut_kernels::Real;
use backcut_kernels::elementwise as ew;

use super::columns::{ColumnBackward, ColumnForward, ColumnSite, InColumns};
use super::{Backward, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// The sum of the columns.
#[derive(Clone, PartialEq, Debug)]
pub struct RowSum(pub(crate) Site);

impl Var<'_> {
    /// The sum of the columns.
    pub fn sum(self) -> Self {
        self.push(RowSum(self.site()), 1)
    }
}

impl Operation for RowSum {
    const NAME: &str = "row sum";

    fn operands(&self) -> Vec<Site> {
        vec![self.0]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        ew::row_sum(at.isa(), at.graph.width(self.0), at.value(self.0), at.out);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (isa, width) = (at.isa(), at.graph.width(self.0));
        let (dy, dx) = at.to(self.0);
        ew::row_sum_adjoint(isa, width, dy, dx, put);
    }

    fn columns(&self) -> Option<&dyn InColumns> {
        Some(self)
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        Some(vec![row.sites[self.0].iter().copied().sum()])
    }
}

impl InColumns for RowSum {
    fn values(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnForward>) {
        let (x, y, n) = (at.of(self.0), at.own(), at.graph.width(self.0));
        list.push(ColumnForward::RowSum { x, y, n });
    }

    fn adjoints(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnBackward>) {
        if let Some(put) = at.put(0) {
            let (dy, dx, n) = (at.own(), at.of(self.0), at.graph.width(self.0));
            list.push(ColumnBackward::RowSum { dy, dx, n, put });
        }
    }
}
