//! Softmax over the columns, outside attention.

use backcut_kernels::Real;
use backcut_kernels::elementwise::Put;

use super::{Backward, Drift, Forward, Operation};
use crate::oracle::{Columns, Row};
use crate::trace::{Site, Var};

/// Softmax over the columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Softmax(pub(crate) Site);

impl Var<'_> {
    /// Softmax over the columns: they are positive and sum to one.
    pub fn softmax(self) -> Self {
        self.push(Softmax(self.site()), self.width())
    }
}

// A row at a time, in the order of the columns on every code path: it is rare, and a row is short.
impl Operation for Softmax {
    const NAME: &str = "softmax";

    const DRIFT: Option<Drift> = Some(|x, bounded| (x * 0.5).softmax() * bounded);

    fn operands(&self) -> Vec<Site> {
        vec![self.0]
    }

    fn derivative_reads(&self, own: Site) -> Vec<Site> {
        vec![own]
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        let width = at.width();
        for (x, y) in at.value(self.0).chunks_exact(width).zip(at.out.chunks_exact_mut(width)) {
            let most = x.iter().fold(x[0], |most, &x| if x > most { x } else { most });
            let mut sum = R::ZERO;
            for (y, &x) in y.iter_mut().zip(x) {
                *y = (x - most).exp();
                sum += *y;
            }
            for y in y {
                *y = *y / sum;
            }
        }
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let mut at = now.local();
        let Some(put) = at.put(0) else { return };
        let (width, y) = (at.width(), at.value(at.at.site));
        at.each_lane(self.0, |dy, dx| {
            let rows = y.chunks_exact(width).zip(dy.chunks_exact(width));
            for ((y, dy), dx) in rows.zip(dx.chunks_exact_mut(width)) {
                let along = y.iter().zip(dy).fold(R::ZERO, |sum, (&y, &dy)| y.mul_add(dy, sum));
                for ((dx, &y), &dy) in dx.iter_mut().zip(y).zip(dy) {
                    let sent = y * (dy - along);
                    *dx = if put == Put::Add { *dx + sent } else { sent };
                }
            }
        });
    }

    fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
        let powers: Columns<'t> = row.sites[self.0].iter().map(|x| x.exp()).collect();
        let sum = powers.iter().copied().sum();
        Some(powers.iter().map(|&power| power / sum).collect())
    }
}
