//! A function of two arguments of equal width, or of a wide first and a one-column second.

use backcut_kernels::Real;
use backcut_kernels::elementwise::{self as ew, BinaryAdjoint, Operand, Pair};
use backcut_kernels::product::Finish;

use super::columns::{ColumnBackward, ColumnForward, ColumnSite, InColumns};
use super::{Arithmetic, Backward, Drift, Forward, Op, Operation};
use crate::compile::graph::Fused;
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// A function of two arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Binary {
    pub(crate) function: Arithmetic,
    pub(crate) a: Site,
    pub(crate) b: Site,
}

impl Var<'_> {
    /// Applies a function of two arguments.
    #[track_caller]
    pub(crate) fn arithmetic(self, function: Arithmetic, other: Self) -> Self {
        self.trace().check_own(function.name(), &[other]);
        let (wa, wb) = (self.width(), other.width());
        if self.scope() != other.scope() {
            self.trace().fail(
                "arithmetic mixes a step with the condition".into(),
                "steps read the condition by cross-attention or recall",
            );
        }
        if wa != wb && wa != 1 && wb != 1 {
            self.trace().fail(
                format!("arithmetic on {wa} and {wb} columns"),
                "use equal widths, or one column that serves all",
            );
        }
        if wa == 1 && wb > 1 {
            return function.one_column_first(self, other);
        }
        self.push(Binary { function, a: self.site(), b: other.site() }, wa.max(wb))
    }
}

impl Binary {
    fn operand_sites(&self) -> [(Operand, Site); 2] {
        [(Operand::First, self.a), (Operand::Second, self.b)]
    }
}

impl Operation for Binary {
    const NAME: &str = "arithmetic";

    // The four operators are part of every program.
    const DRIFT: Option<Drift> = Some(|x, bounded| bounded.min(x.cos()).max(bounded * 0.5 - 0.4));

    fn name(&self) -> &'static str {
        self.function.name()
    }

    fn operands(&self) -> Vec<Site> {
        vec![self.a, self.b]
    }

    fn derivative_reads(&self, own: Site) -> Vec<Site> {
        let reads = self.function.reads();
        let by_either = [
            (reads.iter().any(|r| r.a), self.a),
            (reads.iter().any(|r| r.b), self.b),
            (reads.iter().any(|r| r.y), own),
        ];
        by_either.into_iter().filter(|r| r.0).map(|r| r.1).collect()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let mut at = now.local();
        if let Fused::Sum { linear, other } = at.graph.fused[at.at.site]
            && let Op::Linear(linear) = &at.graph.nodes[linear].op
        {
            let other = at.value(other);
            linear.product(&mut at, Finish::Add(other));
            return;
        }
        let pair = Pair { width: at.width(), a: at.value(self.a), b: at.value(self.b) };
        ew::binary(at.isa(), self.function, pair, at.out);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let (isa, y) = (at.isa(), at.value(at.at.site));
        let pair = Pair { width: at.width(), a: at.value(self.a), b: at.value(self.b) };
        for (index, (operand, site)) in self.operand_sites().into_iter().enumerate() {
            let Some(put) = at.put(index) else { continue };
            at.each_lane(site, |dy, d| {
                let adjoint = BinaryAdjoint { operand, pair, y, dy, d, put };
                ew::binary_adjoint(isa, self.function, adjoint);
            });
        }
    }

    fn columns(&self) -> Option<&dyn InColumns> {
        Some(self)
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        let (a, b) = (&row.sites[self.a], &row.sites[self.b]);
        let column = |x: &Columns<'t>, c: usize| x[if x.len() == 1 { 0 } else { c }];
        Some((0..row.width).map(|c| self.function.oracle(column(a, c), column(b, c))).collect())
    }
}

impl InColumns for Binary {
    fn values(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnForward>) {
        let (a, b, y, n) = (at.of(self.a), at.of(self.b), at.own(), at.width());
        let single = at.graph.width(self.b) != n;
        list.push(ColumnForward::Binary { op: self.function, a, b, y, n, single });
    }

    fn adjoints(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnBackward>) {
        let (op, dy, n) = (self.function, at.own(), at.width());
        let single = at.graph.width(self.b) != n;
        let places = [at.of(self.a), at.of(self.b), dy];
        for (index, (operand, site)) in self.operand_sites().into_iter().enumerate() {
            if let Some(put) = at.put(index) {
                let dx = at.of(site);
                list.push(ColumnBackward::Binary { op, operand, places, dy, dx, n, single, put });
            }
        }
    }
}
