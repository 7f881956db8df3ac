//! The instructions a step is made of.

use backcut_kernels::elementwise::{Binary, Unary};

/// Index of an instruction (and of its value) in its graph.
pub type Site = usize;

/// Index of a parameter in the program's [`Layout`](crate::Layout).
pub type ParamId = usize;

/// One instruction. Operands are earlier sites of the same graph unless said otherwise.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// Values supplied from outside, anew at every step (or once, in the condition).
    Input(usize),
    /// The physical state handed over by the previous step.
    State(usize),
    /// The memory register handed over by the previous step.
    Register(usize),
    /// Row `t` of a parameter table, the same for every row of the batch.
    StepRow(ParamId),
    /// The same number everywhere.
    Constant(f64),
    /// `x W + b`.
    Linear {
        /// Argument.
        x: Site,
        /// `in x out`.
        weight: ParamId,
        /// `1 x out`.
        bias: Option<ParamId>,
    },
    /// Layer norm over the columns.
    LayerNorm {
        /// Argument.
        x: Site,
        /// `1 x n`.
        gain: ParamId,
        /// `1 x n`.
        bias: ParamId,
    },
    /// GELU, tanh form.
    Gelu {
        /// Argument.
        x: Site,
    },
    /// Appends `key` and `value` to a cache, then reads all of it with `q`.
    Attend {
        /// Query.
        q: Site,
        /// Key of this step.
        key: Site,
        /// Value of this step.
        value: Site,
        /// Which cache.
        cache: usize,
        /// Heads.
        heads: usize,
    },
    /// Reads the condition's tokens with `q`.
    Cross {
        /// Query.
        q: Site,
        /// Keys: a site of the condition graph.
        key: Site,
        /// Values: a site of the condition graph.
        value: Site,
        /// Heads.
        heads: usize,
    },
    /// Every token of the condition reads every token (condition graph only).
    SetAttend {
        /// Queries.
        q: Site,
        /// Keys.
        key: Site,
        /// Values.
        value: Site,
        /// Heads.
        heads: usize,
    },
    /// A one-token condition value, read directly; the operand is a site of the condition graph.
    Recall(Site),
    /// A function of one argument.
    Unary {
        /// Which.
        op: Unary,
        /// Argument.
        x: Site,
    },
    /// A function of two arguments of equal width, or of a wide first and a one-column second.
    Binary {
        /// Which.
        op: Binary,
        /// First operand.
        a: Site,
        /// Second operand.
        b: Site,
    },
    /// `x * scale + offset`, per column.
    Affine {
        /// Argument.
        x: Site,
        /// Factors.
        scale: Vec<f64>,
        /// Summands.
        offset: Vec<f64>,
    },
    /// Some columns of `x`, from `start`.
    Slice {
        /// Argument.
        x: Site,
        /// First column.
        start: usize,
    },
    /// Columns side by side.
    Concat(Vec<Site>),
    /// `a - [b, b, ..., b]`.
    SubTiled {
        /// Wide operand.
        a: Site,
        /// Repeated operand.
        b: Site,
        /// Repetitions.
        times: usize,
    },
    /// The sum of the columns.
    RowSum(Site),
    /// The sum of `weight[c] * x[c]^2` over the columns.
    WeightedSquare {
        /// Argument.
        x: Site,
        /// Weight of each column.
        weight: Vec<f64>,
    },
}

impl Op {
    /// Operands within the same graph, in the order in which they receive adjoints.
    pub fn operands(&self) -> Vec<Site> {
        match self {
            Self::Input(_)
            | Self::State(_)
            | Self::Register(_)
            | Self::StepRow(_)
            | Self::Constant(_)
            | Self::Recall(_) => vec![],
            Self::Linear { x, .. }
            | Self::LayerNorm { x, .. }
            | Self::Gelu { x }
            | Self::Unary { x, .. }
            | Self::Affine { x, .. }
            | Self::Slice { x, .. }
            | Self::RowSum(x)
            | Self::WeightedSquare { x, .. } => vec![*x],
            Self::Attend { q, key, value, .. } | Self::SetAttend { q, key, value, .. } => {
                vec![*q, *key, *value]
            }
            Self::Cross { q, .. } => vec![*q],
            Self::Binary { a, b, .. } | Self::SubTiled { a, b, .. } => vec![*a, *b],
            Self::Concat(parts) => parts.clone(),
        }
    }

    /// Operands in the condition graph.
    pub fn condition_operands(&self) -> Vec<Site> {
        match self {
            Self::Cross { key, value, .. } => vec![*key, *value],
            Self::Recall(source) => vec![*source],
            _ => vec![],
        }
    }

    /// The parameters it reads.
    pub fn parameters(&self) -> Vec<ParamId> {
        match self {
            Self::StepRow(table) => vec![*table],
            Self::Linear { weight, bias, .. } => {
                std::iter::once(*weight).chain(bias.iter().copied()).collect()
            }
            Self::LayerNorm { gain, bias, .. } => vec![*gain, *bias],
            _ => vec![],
        }
    }

    /// What users see in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input(_) => "input",
            Self::State(_) => "state",
            Self::Register(_) => "register",
            Self::StepRow(_) => "step row",
            Self::Constant(_) => "constant",
            Self::Linear { .. } => "linear",
            Self::LayerNorm { .. } => "layer norm",
            Self::Gelu { .. } => "gelu",
            Self::Attend { .. } => "attention",
            Self::Cross { .. } => "cross-attention",
            Self::SetAttend { .. } => "set attention",
            Self::Recall(_) => "recall",
            Self::Unary { op, .. } => match op {
                Unary::Neg => "neg",
                Unary::Square => "square",
                Unary::Recip => "recip",
                Unary::Sqrt => "sqrt",
                Unary::Exp => "exp",
                Unary::Ln => "ln",
                Unary::Sin => "sin",
                Unary::Cos => "cos",
                Unary::Tan => "tan",
                Unary::Tanh => "tanh",
                Unary::Atanh => "atanh",
                Unary::Sigmoid => "sigmoid",
                Unary::AtanhRatio => "atanh ratio",
                Unary::SinRatio => "sin ratio",
            },
            Self::Binary { op, .. } => match op {
                Binary::Add => "add",
                Binary::Sub => "sub",
                Binary::Mul => "mul",
                Binary::Div => "div",
            },
            Self::Affine { .. } => "affine",
            Self::Slice { .. } => "slice",
            Self::Concat(_) => "concat",
            Self::SubTiled { .. } => "sub tiled",
            Self::RowSum(_) => "row sum",
            Self::WeightedSquare { .. } => "weighted square",
        }
    }
}

/// An instruction with what is known about its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The instruction.
    pub op: Op,
    /// Columns of its value.
    pub width: usize,
    /// What users see: its name if it has one, and where it was written.
    pub label: String,
}
