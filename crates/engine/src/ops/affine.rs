//! `x * scale + offset`, per column.

use backcut_kernels::Real;
use backcut_kernels::elementwise as ew;

use super::columns::{ColumnBackward, ColumnForward, ColumnSite, InColumns};
use super::{Backward, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// `x * scale + offset`, per column.
#[derive(Clone, PartialEq, Debug)]
pub struct Affine {
    pub(crate) x: Site,
    pub(crate) scale: Vec<f64>,
    pub(crate) offset: Vec<f64>,
}

impl Var<'_> {
    /// `self * scale + offset` with constants for each column.
    #[track_caller]
    pub fn affine(self, scale: &[f64], offset: &[f64]) -> Self {
        let width = self.width();
        if scale.len() != width || offset.len() != width {
            self.trace().fail(
                format!(
                    "affine with {} factors and {} offsets on {width} columns",
                    scale.len(),
                    offset.len()
                ),
                "give one factor and one offset per column",
            );
            return self;
        }
        let (scale, offset) = (scale.to_vec(), offset.to_vec());
        self.push(Affine { x: self.site(), scale, offset }, width)
    }
}

impl Operation for Affine {
    const NAME: &str = "affine";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn constants(&self) -> Vec<f64> {
        [&self.scale[..], &self.offset].concat()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        let (scale, offset) = at.constants().split_at(self.scale.len());
        ew::affine(at.isa(), at.value(self.x), scale, offset, at.out);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (isa, scale) = (at.isa(), &at.constants()[..self.scale.len()]);
        let (dy, dx) = at.to(self.x);
        ew::affine_adjoint(isa, scale, dy, dx, put);
    }

    fn columns(&self) -> Option<&dyn InColumns> {
        Some(self)
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        let x = &row.sites[self.x];
        Some((0..row.width).map(|c| x[c] * self.scale[c] + self.offset[c]).collect())
    }
}

impl InColumns for Affine {
    fn values(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnForward>) {
        let (x, y, n) = (at.of(self.x), at.own(), at.width());
        list.push(ColumnForward::Affine { x, y, n, at: at.constants() });
    }

    fn adjoints(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnBackward>) {
        if let Some(put) = at.put(0) {
            let (dy, dx, n) = (at.own(), at.of(self.x), at.width());
            list.push(ColumnBackward::Affine { dy, dx, n, at: at.constants(), put });
        }
    }
}
