//! The parameters of a program: names, shapes and places in one flat vector.

use backcut_kernels::Real;
use backcut_kernels::random::Stream;

/// How a parameter starts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Init {
    /// All zeros.
    Zeros,
    /// All ones.
    Ones,
    /// Uniform on `[-bound, bound)`.
    Uniform {
        /// Half width.
        bound: f64,
    },
    /// Normal with mean zero.
    Normal {
        /// Standard deviation.
        std: f64,
    },
}

/// One parameter tensor, row-major.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Unique name, such as `block0.w_k.weight`.
    pub name: String,
    /// Rows; for a linear site the inputs (`in x out`).
    pub rows: usize,
    /// Columns; for a linear site the outputs.
    pub cols: usize,
    /// Where it starts in the flat vector.
    pub offset: usize,
    /// How it starts.
    pub init: Init,
}

impl Parameter {
    /// Number of weights.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// A tensor without weights (never made by a trace).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its part of the flat vector.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len()
    }
}

/// All parameters of a program, in the order the trace declared them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Layout {
    parameters: Vec<Parameter>,
    len: usize,
}

impl Layout {
    pub(crate) fn push(&mut self, name: &str, rows: usize, cols: usize, init: Init) -> usize {
        let offset = self.len;
        self.len += rows * cols;
        self.parameters.push(Parameter { name: name.to_owned(), rows, cols, offset, init });
        self.parameters.len() - 1
    }

    /// The parameters in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Total number of weights.
    pub fn len(&self) -> usize {
        self.len
    }

    /// A program without parameters.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The position of a parameter in [`Layout::parameters`].
    pub fn find(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|p| p.name == name)
    }

    /// Draws initial values: each tensor from its own named stream, so that adding a tensor does
    /// not move the others.
    pub fn initialise<R: Real>(&self, seed: u64) -> Vec<R> {
        let mut values = Vec::with_capacity(self.len);
        for parameter in &self.parameters {
            let stream = Stream::new(seed, &format!("init/{}", parameter.name));
            let mut draws = stream.at(0, 0);
            values.extend((0..parameter.len()).map(|_| match parameter.init {
                Init::Zeros => R::ZERO,
                Init::Ones => R::ONE,
                Init::Uniform { bound } => R::from_f64(draws.uniform_in(-bound, bound)),
                Init::Normal { std } => R::from_f64(std * draws.normal()),
            }));
        }
        values
    }
}
