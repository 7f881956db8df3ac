//! Columns side by side.

use backcut_kernels::Real;
use backcut_kernels::elementwise::{self as ew, Part, Put};

use super::columns::{ColumnBackward, ColumnForward, ColumnSite, InColumns};
use super::{Backward, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Scope, Site, Trace, Var};

/// Columns side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct Concat(pub(crate) Vec<Site>);

impl Trace {
    /// Columns side by side.
    #[track_caller]
    pub fn concat<'t>(&'t self, parts: &[Var<'t>]) -> Var<'t> {
        let scope = parts.first().map_or(Scope::Step, |v| v.scope());
        if parts.is_empty() {
            self.fail("concat of nothing".into(), "give it at least one value");
            return self.constant(0.0, 1);
        }
        self.check_scope("concat", parts, scope);
        let width = parts.iter().map(|v| v.width()).sum();
        let parts = parts.iter().map(|v| v.site()).collect();
        self.push(scope, Concat(parts), width, "concat")
    }
}

impl Operation for Concat {
    const NAME: &str = "concat";

    fn operands(&self) -> Vec<Site> {
        self.0.clone()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        let (isa, width, mut start) = (at.isa(), at.width(), 0);
        for &part in &self.0 {
            let (source, n) = (at.value(part), at.graph.width(part));
            let target = Part { matrix: &mut *at.out, width, start };
            ew::columns(isa, n, Part::whole(source, n), target, Put::Store);
            start += n;
        }
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let (isa, width, mut start) = (at.isa(), at.width(), 0);
        for (index, &part) in self.0.iter().enumerate() {
            let n = at.graph.width(part);
            if let Some(put) = at.put(index) {
                let (matrix, d) = at.to(part);
                ew::columns(isa, n, Part { matrix, width, start }, Part::whole(d, n), put);
            }
            start += n;
        }
    }

    fn columns(&self) -> Option<&dyn InColumns> {
        Some(self)
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        Some(self.0.iter().flat_map(|&part| row.sites[part].clone()).collect())
    }
}

impl InColumns for Concat {
    fn values(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnForward>) {
        let mut y = at.own();
        for &part in &self.0 {
            let n = at.graph.width(part);
            list.push(ColumnForward::Copy { x: at.of(part), y, n });
            y += n;
        }
    }

    fn adjoints(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnBackward>) {
        let mut dy = at.own();
        for (index, &part) in self.0.iter().enumerate() {
            let n = at.graph.width(part);
            if let Some(put) = at.put(index) {
                list.push(ColumnBackward::Copy { dy, dx: at.of(part), n, put });
            }
            dy += n;
        }
    }
}
