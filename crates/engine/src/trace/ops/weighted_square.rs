//! The sum of `weight[c] * x[c]^2` over the columns.

use super::Operation;
use crate::trace::{Site, Var};

/// The sum of `weight[c] * x[c]^2` over the columns.
#[derive(Clone, PartialEq, Debug)]
pub struct WeightedSquare {
    pub x: Site,
    pub weight: Vec<f64>,
}

impl Var<'_> {
    /// The sum of `weight[c] * x[c]^2` over the columns.
    #[track_caller]
    pub fn weighted_square(self, weight: &[f64]) -> Self {
        if weight.len() != self.width() {
            self.trace().fail(
                format!("{} weights for {} columns", weight.len(), self.width()),
                "give one weight per column",
            );
            return self;
        }
        self.push(WeightedSquare { x: self.site(), weight: weight.to_vec() }, 1)
    }
}

impl Operation for WeightedSquare {
    const NAME: &str = "weighted square";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn constants(&self) -> Vec<f64> {
        self.weight.clone()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        vec![self.x]
    }
}
