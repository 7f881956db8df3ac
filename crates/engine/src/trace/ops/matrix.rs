//! A product with a constant matrix: `x' = A x + B u`.

use super::{Drift, Operation};
use crate::trace::{Site, Var};

/// A product with a constant matrix.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    pub x: Site,
    /// Row by row; a row makes a column of the result.
    pub entries: Vec<f64>,
    pub columns: usize,
}

impl Var<'_> {
    /// The product of a constant matrix, given by rows, with every row of the batch: column `i` of
    /// the result is the sum over `j` of `matrix[i][j]` times column `j`. Nothing of it is learned.
    #[track_caller]
    pub fn matrix<const N: usize>(self, matrix: &[[f64; N]]) -> Self {
        if N != self.width() || matrix.is_empty() {
            self.trace().fail(
                format!("a matrix of {} x {N} and {} columns", matrix.len(), self.width()),
                "a row of the matrix has an entry for every column of the value",
            );
            return self;
        }
        let entries = matrix.iter().flatten().copied().collect();
        self.push(Matrix { x: self.site(), entries, columns: N }, matrix.len())
    }
}

// A row at a time, in the order of the columns on every code path: such matrices are small.
impl Operation for Matrix {
    const NAME: &str = "matrix";

    const DRIFT: Option<Drift> = Some(|_, bounded| {
        let turned = bounded.column(0).matrix(&[[0.4], [-0.3]]).matrix(&[[0.5, -0.2]]);
        bounded * turned
    });

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn constants(&self) -> Vec<f64> {
        self.entries.clone()
    }
}
