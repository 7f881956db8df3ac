//! The instructions within a step, written out for one row as columns of scalars.

use backcut_kernels::elementwise::{Binary, Unary};

use super::tape::Scalar;
use crate::layout::Layout;
use crate::trace::{Op, ParamId, Site};

/// The columns of one row.
pub(super) type Columns<'t> = Vec<Scalar<'t>>;

const LAYER_NORM_EPS: f64 = 1e-5;

/// The parameters of a program as scalars, in layout order.
pub(super) struct Parameters<'p, 't> {
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
    pub fn linear(&self, x: &[Scalar<'t>], weight: ParamId, bias: Option<ParamId>) -> Columns<'t> {
        let product = |column: usize| -> Scalar<'t> {
            x.iter().enumerate().map(|(i, &x)| x * self.row(weight, i)[column]).sum()
        };
        let columns = 0..self.layout.parameters()[weight].cols;
        match bias {
            Some(bias) => columns.map(|c| product(c) + self.row(bias, 0)[c]).collect(),
            None => columns.map(product).collect(),
        }
    }

    /// `(x - mean) / sqrt(variance + eps) * gain + bias`, with the biased variance.
    fn layer_norm(&self, x: &[Scalar<'t>], gain: ParamId, bias: ParamId) -> Columns<'t> {
        let n = x.len() as f64;
        let mean = x.iter().copied().sum::<Scalar>() * n.recip();
        let centred: Columns = x.iter().map(|&x| x - mean).collect();
        let variance = centred.iter().map(|c| c.square()).sum::<Scalar>() * n.recip();
        let deviation = (variance + LAYER_NORM_EPS).sqrt();
        let scaled = centred.iter().zip(self.row(gain, 0)).map(|(&c, &gain)| c / deviation * gain);
        scaled.zip(self.row(bias, 0)).map(|(x, &bias)| x + bias).collect()
    }
}

/// GELU in its tanh form.
fn gelu(x: Scalar<'_>) -> Scalar<'_> {
    let inner = (x + x * x * x * 0.044_715) * (2.0 / std::f64::consts::PI).sqrt();
    x * (inner.tanh() + 1.0) * 0.5
}

fn unary(op: Unary, x: Scalar<'_>) -> Scalar<'_> {
    match op {
        Unary::Neg => -x,
        Unary::Square => x.square(),
        Unary::Recip => x.recip(),
        Unary::Sqrt => x.sqrt(),
        Unary::Exp => x.exp(),
        Unary::Ln => x.ln(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tan => x.tan(),
        Unary::Tanh => x.tanh(),
        Unary::Atanh => x.atanh(),
        Unary::Sigmoid => x.sigmoid(),
        Unary::AtanhRatio => x.atanh_ratio(),
        Unary::SinRatio => x.sin_ratio(),
    }
}

fn binary<'t>(op: Binary, a: Scalar<'t>, b: Scalar<'t>) -> Scalar<'t> {
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
    }
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

/// An instruction that reads nothing but earlier sites of its own step and row; `None` for the others.
pub(super) fn within_step<'t>(
    op: &Op,
    width: usize,
    sites: &[Columns<'t>],
    parameters: &Parameters<'_, 't>,
) -> Option<Columns<'t>> {
    let column = |site: Site, c: usize| sites[site][if sites[site].len() == 1 { 0 } else { c }];
    Some(match op {
        Op::Constant(value) => vec![Scalar::constant(*value); width],
        Op::Linear { x, weight, bias } => parameters.linear(&sites[*x], *weight, *bias),
        Op::LayerNorm { x, gain, bias } => parameters.layer_norm(&sites[*x], *gain, *bias),
        Op::Gelu { x } => sites[*x].iter().map(|&x| gelu(x)).collect(),
        Op::Unary { op, x } => sites[*x].iter().map(|&x| unary(*op, x)).collect(),
        Op::Binary { op, a, b } => {
            (0..width).map(|c| binary(*op, column(*a, c), column(*b, c))).collect()
        }
        Op::Affine { x, scale, offset } => {
            (0..width).map(|c| sites[*x][c] * scale[c] + offset[c]).collect()
        }
        Op::Slice { x, start } => sites[*x][*start..*start + width].to_vec(),
        Op::Concat(parts) => parts.iter().flat_map(|&part| sites[part].clone()).collect(),
        Op::SubTiled { a, b, .. } => {
            (0..width).map(|c| sites[*a][c] - sites[*b][c % sites[*b].len()]).collect()
        }
        Op::RowSum(x) => vec![sites[*x].iter().copied().sum()],
        Op::WeightedSquare { x, weight } => {
            vec![sites[*x].iter().zip(weight).map(|(x, &w)| x.square() * w).sum()]
        }
        Op::Input(_)
        | Op::State(_)
        | Op::Register(_)
        | Op::StepRow(_)
        | Op::Attend { .. }
        | Op::Cross { .. }
        | Op::SetAttend { .. }
        | Op::Recall(_) => return None,
    })
}
