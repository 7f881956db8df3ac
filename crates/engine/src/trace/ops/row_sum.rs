//! The sum of the columns.

use super::Operation;
use crate::trace::{Site, Var};

/// The sum of the columns.
#[derive(Clone, PartialEq, Debug)]
pub struct RowSum(pub Site);

impl Var<'_> {
    /// The sum of the columns.
    pub fn sum(self) -> Self {
        self.push(RowSum(self.site()), 1)
    }
}

impl Operation for RowSum {
    const NAME: &str = "row sum";

    fn operands(&self) -> Vec<Site> {
        vec![self.0]
    }
}
