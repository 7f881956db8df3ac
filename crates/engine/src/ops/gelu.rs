//! GELU, tanh form. The forward saves the derivative; the backward multiplies by it, or leaves that to the
//! product of the linear site it is fused with.

use backcut_kernels::{Real, elementwise as ew, gelu};

use super::{Backward, Forward, Operation};
use crate::compile::graph::Fused;
use crate::oracle::{Columns, Row, Scalar};
use crate::trace::{Site, Var};

/// GELU, tanh form.
#[derive(Clone, PartialEq, Debug)]
pub struct Gelu {
    pub(crate) x: Site,
}

impl Var<'_> {
    /// GELU, tanh form.
    pub fn gelu(self) -> Self {
        self.push(Gelu { x: self.site() }, self.width())
    }
}

impl Operation for Gelu {
    const NAME: &str = "gelu";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn saved_per_row(&self, width: usize) -> usize {
        width
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        gelu::gelu(at.isa(), at.value(self.x), at.out, at.saved);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        if at.graph.fused[at.at.site] != Fused::Gelu {
            let (isa, derivative) = (at.isa(), at.saved(at.at.site));
            at.each_lane(self.x, |dy, dx| ew::times(isa, dy, derivative, dx, put));
        }
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        let c = (2.0 / std::f64::consts::PI).sqrt();
        let gelu = |&x: &Scalar<'t>| x * (((x + x * x * x * 0.044_715) * c).tanh() + 1.0) * 0.5;
        Some(row.sites[self.x].iter().map(gelu).collect())
    }
}
