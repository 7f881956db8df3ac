//! A function of one argument, applied to every element.

use backcut_kernels::Real;
use backcut_kernels::elementwise::{self as ew, UnaryAdjoint};

use super::columns::{ColumnBackward, ColumnForward, ColumnSite, InColumns};
use super::{Backward, Forward, Function, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// A function of one argument.
#[derive(Clone, PartialEq, Debug)]
pub struct Unary {
    pub(crate) function: Function,
    pub(crate) x: Site,
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

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        ew::unary(at.isa(), self.function, at.value(self.x), at.out);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (isa, x, y) = (at.isa(), at.value(self.x), at.value(at.at.site));
        at.each_lane(self.x, |dy, dx| {
            ew::unary_adjoint(isa, self.function, UnaryAdjoint { x, y, dy, dx, put });
        });
    }

    fn columns(&self) -> Option<&dyn InColumns> {
        Some(self)
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        Some(row.sites[self.x].iter().map(|x| x.apply(self.function)).collect())
    }
}

impl InColumns for Unary {
    fn values(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnForward>) {
        let (x, y, n) = (at.of(self.x), at.own(), at.width());
        list.push(ColumnForward::Unary { op: self.function, x, y, n });
    }

    fn adjoints(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnBackward>) {
        if let Some(put) = at.put(0) {
            let (op, x, y, n) = (self.function, at.of(self.x), at.own(), at.width());
            list.push(ColumnBackward::Unary { op, x, y, dy: y, dx: x, n, put });
        }
    }
}
