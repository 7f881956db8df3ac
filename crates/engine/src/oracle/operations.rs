//! What instructions are written in on the tape: columns of one row, parameters, attention.

use super::tape::Scalar;
use crate::compile::layout::Layout;
use crate::ops::Linear;
use crate::trace::ParamId;

/// The columns of one row.
pub(crate) type Columns<'t> = Vec<Scalar<'t>>;

/// The parameters of a program as scalars, in layout order.
pub(crate) struct Parameters<'p, 't> {
    pub layout: &'p Layout,
    pub flat: Columns<'t>,
}

impl<'t> Parameters<'_, 't> {
    /// One row of a parameter.
    pub fn row(&self, id: ParamId, row: usize) -> &[Scalar<'t>] {
        let parameter = &self.layout.parameters()[id];
        &self.flat[parameter.range()][row * parameter.cols..][..parameter.cols]
    }

    /// `x W + b`.
    pub fn linear(&self, x: &[Scalar<'t>], op: &Linear) -> Columns<'t> {
        self.linear_without(x, op, |_| false)
    }

    /// The same, with rows of the weights that are constants here.
    pub fn linear_without(
        &self,
        x: &[Scalar<'t>],
        op: &Linear,
        is_constant: impl Fn(usize) -> bool,
    ) -> Columns<'t> {
        let &Linear { weight, bias, .. } = op;
        let entry = |i: usize, column: usize| {
            let entry = self.row(weight, i)[column];
            if is_constant(i) { entry.detach() } else { entry }
        };
        let product = |column: usize| -> Scalar<'t> {
            x.iter().enumerate().map(|(i, &x)| x * entry(i, column)).sum()
        };
        let columns = 0..self.layout.parameters()[weight].cols;
        match bias {
            Some(bias) => columns.map(|c| product(c) + self.row(bias, 0)[c]).collect(),
            None => columns.map(product).collect(),
        }
    }
}

pub(super) fn constants<'t>(values: &[f64]) -> Columns<'t> {
    values.iter().map(|&value| Scalar::constant(value)).collect()
}

pub(super) fn detach<'t>(values: &[Scalar<'t>]) -> Columns<'t> {
    values.iter().map(|x| x.detach()).collect()
}

/// The same numbers; `factor` times the derivatives.
pub(super) fn scaled<'t>(columns: &[Scalar<'t>], factor: f64) -> Columns<'t> {
    columns.iter().map(|x| x.scale_gradient(factor)).collect()
}

/// Softmax attention of one query over keys and values, head by head, scores over `sqrt(dim)`.
pub(super) fn attention<'t>(
    query: &[Scalar<'t>],
    keys: &[Columns<'t>],
    values: &[Columns<'t>],
    heads: usize,
) -> Columns<'t> {
    let dim = query.len() / heads;
    let mut output = Columns::with_capacity(query.len());
    for head in 0..heads {
        let columns = head * dim..(head + 1) * dim;
        let score = |key: &Columns<'t>| -> Scalar<'t> {
            let dot: Scalar = columns.clone().map(|c| query[c] * key[c]).sum();
            dot * (dim as f64).sqrt().recip()
        };
        let scores: Columns = keys.iter().map(score).collect();
        // The largest score is a constant here: softmax does not change under a shift.
        let largest = scores.iter().fold(f64::NEG_INFINITY, |max, s| max.max(s.value()));
        let weights: Columns = scores.iter().map(|&s| (s + -largest).exp()).collect();
        let total: Scalar = weights.iter().copied().sum();
        for column in columns {
            let read: Scalar = weights.iter().zip(values).map(|(&w, v)| w * v[column]).sum();
            output.push(read / total);
        }
    }
    output
}

/// An instruction's surroundings: one row of its own step.
pub(crate) struct Row<'a, 't> {
    /// Columns of the instruction.
    pub width: usize,
    /// Earlier sites.
    pub sites: &'a [Columns<'t>],
    pub parameters: &'a Parameters<'a, 't>,
}
