//! Some columns of a value.

use backcut_kernels::Real;
use backcut_kernels::elementwise::{self as ew, Part, Put};

use super::columns::{ColumnBackward, ColumnForward, ColumnSite, InColumns};
use super::{Backward, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// Some columns of `x`, from `start`.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
    pub(crate) x: Site,
    pub(crate) start: usize,
}

impl Var<'_> {
    /// Columns `start..start + width`.
    #[track_caller]
    pub fn slice(self, start: usize, width: usize) -> Self {
        if width == 0 || start + width > self.width() {
            self.trace().fail(
                format!("columns {start}..{} of {} columns", start + width, self.width()),
                "stay inside the value's columns",
            );
            return self;
        }
        self.push(Slice { x: self.site(), start }, width)
    }

    /// The value in parts of these widths, which must cover it: `let [position, velocity] = state.split([2, 2])`.
    #[track_caller]
    pub fn split<const N: usize>(self, widths: [usize; N]) -> [Self; N] {
        let all: usize = widths.iter().sum();
        if all != self.width() || widths.contains(&0) {
            self.trace().fail(
                format!("parts of {widths:?} columns of a value of {}", self.width()),
                "parts cover a value, and none is empty",
            );
            return [self; N];
        }
        let mut start = 0;
        widths.map(|width| {
            start += width;
            self.slice(start - width, width)
        })
    }

    /// One column.
    #[track_caller]
    pub fn column(self, index: usize) -> Self {
        self.slice(index, 1)
    }
}

impl Operation for Slice {
    const NAME: &str = "slice";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        let (x, n, width) = (at.value(self.x), at.width(), at.graph.width(self.x));
        let source = Part { matrix: x, width, start: self.start };
        ew::columns(at.isa(), n, source, Part::whole(at.out, n), Put::Store);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (isa, n, width) = (at.isa(), at.width(), at.graph.width(self.x));
        let (dy, dx) = at.to(self.x);
        if put == Put::Store {
            dx.fill(R::ZERO);
        }
        let target = Part { matrix: dx, width, start: self.start };
        ew::columns(isa, n, Part::whole(dy, n), target, Put::Add);
    }

    fn columns(&self) -> Option<&dyn InColumns> {
        Some(self)
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        Some(row.sites[self.x][self.start..self.start + row.width].to_vec())
    }
}

impl InColumns for Slice {
    fn values(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnForward>) {
        let (x, y, n) = (at.of(self.x) + self.start, at.own(), at.width());
        list.push(ColumnForward::Copy { x, y, n });
    }

    fn adjoints(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnBackward>) {
        let Some(put) = at.put(0) else { return };
        let (dy, dx, n) = (at.own(), at.of(self.x), at.width());
        if put == Put::Store {
            list.push(ColumnBackward::Zero { dx, n: at.graph.width(self.x) });
        }
        list.push(ColumnBackward::Copy { dy, dx: dx + self.start, n, put: Put::Add });
    }
}
