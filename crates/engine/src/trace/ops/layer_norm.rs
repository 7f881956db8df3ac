//! Layer norm over the columns, with gain and bias.

use backcut_kernels::norm;

use super::Operation;
use crate::trace::{Init, ParamId, Site, Trace, Var};

/// Layer norm over the columns; gain and bias are `1 x n`.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerNorm {
    pub x: Site,
    pub gain: ParamId,
    pub bias: ParamId,
}

impl Trace {
    /// Layer norm with gain and bias.
    #[track_caller]
    pub fn layer_norm<'t>(&'t self, name: &str, x: Var<'t>) -> Var<'t> {
        self.check_own(name, &[x]);
        let width = x.width();
        let gain = self.parameter(&format!("{name}.gain"), 1, width, Init::Ones);
        let bias = self.parameter(&format!("{name}.bias"), 1, width, Init::Zeros);
        self.push(x.scope(), LayerNorm { x: x.site(), gain, bias }, width, name)
    }
}

impl Operation for LayerNorm {
    const NAME: &str = "layer norm";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn parameters(&self) -> Vec<ParamId> {
        vec![self.gain, self.bias]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        vec![self.x]
    }

    fn saved_per_row(&self, _width: usize) -> usize {
        norm::SAVED_PER_ROW
    }
}
