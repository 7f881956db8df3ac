//! `x W + b`. Its weights' gradients are taken once per chunk of steps (`backward/weights.rs`).

use backcut_kernels::Real;
use backcut_kernels::elementwise::Put;
use backcut_kernels::product::{Finish, Start, product};

use super::{Backward, Forward, Operation, Values};
use crate::compile::graph::Fused;
use crate::compile::layout::Init;
use crate::oracle::{Columns, Row};
use crate::trace::{ParamId, Site, Trace, Var};

/// `x W + b`, with a weight of `in x out` and a bias of `1 x out`.
#[derive(Clone, PartialEq, Debug)]
pub struct Linear {
    pub(crate) x: Site,
    pub(crate) weight: ParamId,
    pub(crate) bias: Option<ParamId>,
}

impl Trace {
    /// `x W + b` with PyTorch's default initialisation: uniform within `1 / sqrt(inputs)`.
    #[track_caller]
    pub fn linear<'t>(&'t self, name: &str, x: Var<'t>, width: usize) -> Var<'t> {
        let bound = 1.0 / (x.width() as f64).sqrt();
        self.linear_with(name, x, width, Init::Uniform { bound }, Some(Init::Uniform { bound }))
    }

    /// `x W + b` with chosen initial values; no bias if `bias` is `None`.
    #[track_caller]
    pub fn linear_with<'t>(
        &'t self,
        name: &str,
        x: Var<'t>,
        width: usize,
        weight: Init,
        bias: Option<Init>,
    ) -> Var<'t> {
        self.check_width("linear", name, width);
        self.check_own(name, &[x]);
        let weight = self.parameter(&format!("{name}.weight"), x.width(), width, weight);
        let bias = bias.map(|init| self.parameter(&format!("{name}.bias"), 1, width, init));
        self.push(x.scope(), Linear { x: x.site(), weight, bias }, width, name)
    }
}

impl Linear {
    /// The product, with what a fused reader does to its sums.
    pub(super) fn product<R: Real>(&self, at: &mut Values<'_, R>, finish: Finish<'_, R>) {
        let model = at.model;
        let start = self.bias.map_or(Start::Zero, |bias| Start::Bias(model.parameter(bias)));
        let (x, n_in, n_out) = (at.value(self.x), at.graph.width(self.x), at.width());
        let panels = model.panels(self.weight);
        product(at.isa(), at.rows(), x, n_in, panels, start, finish, &mut *at.out, n_out);
    }
}

impl Operation for Linear {
    const NAME: &str = "linear";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn parameters(&self) -> Vec<ParamId> {
        std::iter::once(self.weight).chain(self.bias).collect()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        vec![self.x]
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let mut at = now.local();
        // Otherwise its only reader, a sum, computes it (whatever else it is fused with).
        if at.graph.home[at.at.site] == at.at.site {
            self.product(&mut at, Finish::Store);
        }
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (isa, lanes, rows) = (at.isa(), at.lanes, at.rows);
        let (n_in, n_out) = (at.graph.width(self.x), at.width());
        let panels = at.model.transposed(self.weight);
        if let Fused::AfterGelu { gelu } = at.graph.fused[at.at.site] {
            let finish = Finish::Times(at.saved(gelu));
            at.each_lane(self.x, |dy, dx| {
                product(isa, rows, dy, n_out, panels, Start::Zero, finish, dx, n_in);
            });
        } else {
            let start = if put == Put::Add { Start::Accumulate } else { Start::Zero };
            let (dy, dx) = at.to(self.x);
            product(isa, lanes * rows, dy, n_out, panels, start, Finish::Store, dx, n_in);
        }
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        Some(row.parameters.linear(&row.sites[self.x], self))
    }
}
