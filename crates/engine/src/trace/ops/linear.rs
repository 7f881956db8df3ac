//! `x W + b`. Its weights' gradients are taken once per chunk of steps (`backward/weights.rs`).

use super::Operation;
use crate::trace::{Init, ParamId, Site, Trace, Var};

/// `x W + b`, with a weight of `in x out` and a bias of `1 x out`.
#[derive(Clone, PartialEq, Debug)]
pub struct Linear {
    pub x: Site,
    pub weight: ParamId,
    pub bias: Option<ParamId>,
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
}
