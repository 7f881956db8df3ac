//! Softmax over the columns, outside attention.

use super::{Drift, Operation};
use crate::trace::{Site, Var};

/// Softmax over the columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Softmax(pub Site);

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
}
