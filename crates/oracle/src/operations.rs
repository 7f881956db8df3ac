//! What instructions are written in on the tape: columns of one row, parameters, attention.

use backcut_engine::ops::{
    Affine, Binary, Concat, Constant, Gelu, LayerNorm, Linear, Matrix, Op, RowSum, Slice, Softmax,
    StopGradient, SubTiled, Unary, WeightedSquare,
};
use backcut_engine::{Layout, Node, ParamId};

use crate::tape::Scalar;

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

pub(crate) fn constants<'t>(values: &[f64]) -> Columns<'t> {
    values.iter().map(|&value| Scalar::constant(value)).collect()
}

pub(crate) fn detach<'t>(values: &[Scalar<'t>]) -> Columns<'t> {
    values.iter().map(|x| x.detach()).collect()
}

/// The same numbers; `factor` times the derivatives.
pub(crate) fn scaled<'t>(columns: &[Scalar<'t>], factor: f64) -> Columns<'t> {
    columns.iter().map(|x| x.scale_gradient(factor)).collect()
}

/// Softmax attention of one query over keys and values, head by head, scores over `sqrt(dim)`.
pub(crate) fn attention<'t>(
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

/// `(x - mean) / sqrt(variance + eps) * gain + bias`, with the biased variance.
fn layer_norm<'t>(x: &[Scalar<'t>], gain: &[Scalar<'t>], bias: &[Scalar<'t>]) -> Columns<'t> {
    let n = x.len() as f64;
    let mean = x.iter().copied().sum::<Scalar>() * n.recip();
    let centred: Columns = x.iter().map(|&x| x - mean).collect();
    let variance = centred.iter().map(|c| c.square()).sum::<Scalar>() * n.recip();
    let deviation = (variance + 1e-5).sqrt();
    let scaled = centred.iter().zip(gain).map(|(&c, &gain)| c / deviation * gain);
    scaled.zip(bias).map(|(x, &bias)| x + bias).collect()
}

/// An instruction that reads nothing but earlier sites of its own step and row; `None` for any
/// other.
pub(crate) fn within_step<'t>(
    node: &Node,
    sites: &[Columns<'t>],
    parameters: &Parameters<'_, 't>,
) -> Option<Columns<'t>> {
    let each = |x: &[Scalar<'t>], f: &dyn Fn(Scalar<'t>) -> Scalar<'t>| -> Columns<'t> {
        x.iter().map(|&x| f(x)).collect()
    };
    // One column serves all of a wider operand's.
    let column = |x: &Columns<'t>, c: usize| x[c % x.len()];
    let columns = 0..node.width;
    Some(match &node.op {
        Op::Constant(Constant(value)) => constants(&vec![*value; node.width]),
        Op::Linear(linear) => parameters.linear(&sites[linear.x], linear),
        Op::LayerNorm(LayerNorm { x, gain, bias }) => {
            layer_norm(&sites[*x], parameters.row(*gain, 0), parameters.row(*bias, 0))
        }
        Op::Gelu(Gelu { x }) => {
            let c = (2.0 / std::f64::consts::PI).sqrt();
            each(&sites[*x], &|x| x * (((x + x * x * x * 0.044_715) * c).tanh() + 1.0) * 0.5)
        }
        Op::Unary(Unary { function, x }) => each(&sites[*x], &|x| x.apply(*function)),
        Op::Binary(Binary { function, a, b }) => {
            let (a, b) = (&sites[*a], &sites[*b]);
            columns.map(|c| column(a, c).combine(*function, column(b, c))).collect()
        }
        Op::Affine(Affine { x, scale, offset }) => {
            columns.map(|c| sites[*x][c] * scale[c] + offset[c]).collect()
        }
        Op::Slice(Slice { x, start }) => sites[*x][*start..start + node.width].to_vec(),
        Op::Concat(Concat(parts)) => parts.iter().flat_map(|&x| sites[x].clone()).collect(),
        Op::SubTiled(SubTiled { a, b, .. }) => {
            columns.map(|c| sites[*a][c] - column(&sites[*b], c)).collect()
        }
        Op::RowSum(RowSum(x)) => vec![sites[*x].iter().copied().sum()],
        Op::WeightedSquare(WeightedSquare { x, weight }) => {
            vec![sites[*x].iter().zip(weight).map(|(x, &w)| x.square() * w).sum()]
        }
        Op::Softmax(Softmax(x)) => {
            let powers = each(&sites[*x], &Scalar::exp);
            let sum = powers.iter().copied().sum();
            each(&powers, &|power| power / sum)
        }
        Op::Matrix(Matrix { x, entries, columns }) => {
            let of_row = |a: &[f64]| a.iter().zip(&sites[*x]).map(|(&a, &x)| x * a).sum();
            entries.chunks_exact(*columns).map(of_row).collect()
        }
        Op::StopGradient(StopGradient(x)) => detach(&sites[*x]),
        Op::Input(_)
        | Op::State(_)
        | Op::Register(_)
        | Op::StepRow(_)
        | Op::Recall(_)
        | Op::Attend(_)
        | Op::Cross(_)
        | Op::SetAttend(_) => return None,
    })
}
