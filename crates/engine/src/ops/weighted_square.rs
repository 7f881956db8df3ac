//! The sum of `weight[c] * x[c]^2` over the columns.

use backcut_kernels::Real;
use backcut_kernels::elementwise as ew;

use super::columns::{ColumnBackward, ColumnForward, ColumnSite, InColumns};
use super::{Backward, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// The sum of `weight[c] * x[c]^2` over the columns.
#[derive(Clone, PartialEq, Debug)]
pub struct WeightedSquare {
    pub(crate) x: Site,
    pub(crate) weight: Vec<f64>,
}

impl Var<'_> {
    /// The sum of `weight[c] * x[c]^2` over the columns.
    #[track_caller]
    pub fn weighted_square(self, weight: &[f64]) -> Self {
        if weight.len() != self.width() {
            self.trace().fail(
                format!("{} weights for {} columns", weight.len(), self.width()),
                "give one weight per column",
            );
            return self;
        }
        self.push(WeightedSquare { x: self.site(), weight: weight.to_vec() }, 1)
    }
}

impl Operation for WeightedSquare {
    const NAME: &str = "weighted square";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn constants(&self) -> Vec<f64> {
        self.weight.clone()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        vec![self.x]
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        ew::weighted_square(at.isa(), at.constants(), at.value(self.x), at.out);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (isa, weight, x) = (at.isa(), at.constants(), at.value(self.x));
        at.each_lane(self.x, |dy, dx| ew::weighted_square_adjoint(isa, weight, x, dy, dx, put));
    }

    fn columns(&self) -> Option<&dyn InColumns> {
        Some(self)
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        let terms = row.sites[self.x].iter().zip(&self.weight).map(|(x, &w)| x.square() * w);
        Some(vec![terms.sum()])
    }
}

impl InColumns for WeightedSquare {
    fn values(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnForward>) {
        let (x, y, n) = (at.of(self.x), at.own(), self.weight.len());
        list.push(ColumnForward::WeightedSquare { x, y, n, at: at.constants() });
    }

    fn adjoints(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnBackward>) {
        if let Some(put) = at.put(0) {
            let (x, dy, n) = (at.of(self.x), at.own(), self.weight.len());
            let at = at.constants();
            list.push(ColumnBackward::WeightedSquare { x, dy, dx: x, n, at, put });
        }
    }
}
