//! Layer norm over the columns, with gain and bias.

use backcut_kernels::{Real, norm};

use super::{Backward, Forward, Operation};
use crate::compile::layout::Init;
use crate::oracle::{Columns, Row, Scalar};
use crate::trace::{ParamId, Site, Trace, Var};

const EPS: f64 = 1e-5;

/// Layer norm over the columns; gain and bias are `1 x n`.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerNorm {
    pub(crate) x: Site,
    pub(crate) gain: ParamId,
    pub(crate) bias: ParamId,
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

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        let (gain, bias) = (at.model.parameter(self.gain), at.model.parameter(self.bias));
        let (x, eps) = (at.value(self.x), R::from_f64(EPS));
        norm::layer_norm(at.isa(), at.width(), eps, x, gain, bias, at.saved, at.out);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        now.workspace.norm_gradient(now.model, now.rollout, self, now.at);
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (isa, n, gain) = (at.isa(), at.width(), at.model.parameter(self.gain));
        let (x, saved) = (at.value(self.x), at.saved(at.at.site));
        at.each_lane(self.x, |dy, dx| {
            norm::layer_norm_adjoint(isa, n, x, gain, saved, dy, dx, put);
        });
    }

    /// `(x - mean) / sqrt(variance + eps) * gain + bias`, with the biased variance.
    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        let x = &row.sites[self.x];
        let n = x.len() as f64;
        let mean = x.iter().copied().sum::<Scalar>() * n.recip();
        let centred: Columns = x.iter().map(|&x| x - mean).collect();
        let variance = centred.iter().map(|c| c.square()).sum::<Scalar>() * n.recip();
        let deviation = (variance + EPS).sqrt();
        let (gain, bias) = (row.parameters.row(self.gain, 0), row.parameters.row(self.bias, 0));
        let scaled = centred.iter().zip(gain).map(|(&c, &gain)| c / deviation * gain);
        Some(scaled.zip(bias).map(|(x, &bias)| x + bias).collect())
    }
}
