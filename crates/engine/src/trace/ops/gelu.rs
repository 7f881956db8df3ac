//! GELU, tanh form. The forward saves the derivative; the backward multiplies by it, or leaves that
//! to the product of the linear site it is fused with.

use super::Operation;
use crate::trace::{Site, Var};

/// GELU, tanh form.
#[derive(Clone, PartialEq, Debug)]
pub struct Gelu {
    pub x: Site,
}

impl Var<'_> {
    /// GELU, tanh form.
    pub fn gelu(self) -> Self {
        self.push(Gelu { x: self.site() }, self.width())
    }
}

impl Operation for Gelu {
    const NAME: &str = "gelu";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn saved_per_row(&self, width: usize) -> usize {
        width
    }
}
