//! A product with a constant matrix: `x' = A x + B u`.

use backcut_kernels::Real;
use backcut_kernels::elementwise::Put;

use super::{Backward, Drift, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// A product with a constant matrix.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    pub(crate) x: Site,
    /// Row by row; a row makes a column of the result.
    pub(crate) entries: Vec<f64>,
    pub(crate) columns: usize,
}

impl Var<'_> {
    /// The product of a constant matrix, given by rows, with every row of the batch: column `i` of the result is
    /// the sum over `j` of `matrix[i][j]` times column `j`. Nothing of it is learned.
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

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        let (entries, width) = (at.constants(), at.width());
        let rows = at.value(self.x).chunks_exact(self.columns);
        for (x, y) in rows.zip(at.out.chunks_exact_mut(width)) {
            for (y, row) in y.iter_mut().zip(entries.chunks_exact(self.columns)) {
                *y = row.iter().zip(x).fold(R::ZERO, |sum, (&a, &x)| a.mul_add(x, sum));
            }
        }
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (entries, width, columns) = (at.constants(), at.width(), self.columns);
        let (dy, dx) = at.to(self.x);
        for (dy, dx) in dy.chunks_exact(width).zip(dx.chunks_exact_mut(columns)) {
            for (j, dx) in dx.iter_mut().enumerate() {
                let column = entries.iter().skip(j).step_by(columns);
                let sent = column.zip(dy).fold(R::ZERO, |sum, (&a, &dy)| a.mul_add(dy, sum));
                *dx = if put == Put::Add { *dx + sent } else { sent };
            }
        }
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        let x = &row.sites[self.x];
        let of_row = |a: &[f64]| a.iter().zip(x).map(|(&a, &x)| x * a).sum();
        Some(self.entries.chunks_exact(self.columns).map(of_row).collect())
    }
}
