//! `a - [b, b, ..., b]`: a repeated operand along the columns.

use backcut_kernels::Real;
use backcut_kernels::elementwise::{self as ew, Part};

use super::{Backward, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// `a - [b, b, ..., b]`, with `b` repeated `times` times.
#[derive(Clone, PartialEq, Debug)]
pub struct SubTiled {
    pub(crate) a: Site,
    pub(crate) b: Site,
    pub(crate) times: usize,
}

impl Var<'_> {
    /// `self - [b, b, ..., b]`: a repeated operand along the columns.
    #[track_caller]
    pub fn sub_tiled(self, b: Self) -> Self {
        self.trace().check_own("sub_tiled", &[b]);
        let (wide, narrow) = (self.width(), b.width());
        if narrow == 0 || wide % narrow != 0 || self.scope() != b.scope() {
            self.trace().fail(
                format!("{narrow} columns do not tile {wide}"),
                "the repeated operand's width must divide the other's",
            );
            return self;
        }
        self.push(SubTiled { a: self.site(), b: b.site(), times: wide / narrow }, wide)
    }
}

impl Operation for SubTiled {
    const NAME: &str = "sub tiled";

    fn operands(&self) -> Vec<Site> {
        vec![self.a, self.b]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        let (width, a, b) = (at.graph.width(self.b), at.value(self.a), at.value(self.b));
        ew::sub_tiled(at.isa(), width, self.times, a, b, at.out);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let (isa, width, tile) = (at.isa(), at.width(), at.graph.width(self.b));
        if let Some(put) = at.put(0) {
            let (dy, da) = at.to(self.a);
            ew::columns(isa, width, Part::whole(dy, width), Part::whole(da, width), put);
        }
        if let Some(put) = at.put(1) {
            let (dy, db) = at.to(self.b);
            ew::sub_tiled_adjoint(isa, tile, self.times, dy, db, put);
        }
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        let (a, b) = (&row.sites[self.a], &row.sites[self.b]);
        Some((0..row.width).map(|c| a[c] - b[c % b.len()]).collect())
    }
}
