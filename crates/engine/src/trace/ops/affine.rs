//! `x * scale + offset`, per column.

use super::Operation;
use crate::trace::{Site, Var};

/// `x * scale + offset`, per column.
#[derive(Clone, PartialEq, Debug)]
pub struct Affine {
    pub x: Site,
    pub scale: Vec<f64>,
    pub offset: Vec<f64>,
}

impl Var<'_> {
    /// `self * scale + offset` with constants for each column.
    #[track_caller]
    pub fn affine(self, scale: &[f64], offset: &[f64]) -> Self {
        let width = self.width();
        if scale.len() != width || offset.len() != width {
            self.trace().fail(
                format!(
                    "affine with {} factors and {} offsets on {width} columns",
                    scale.len(),
                    offset.len()
                ),
                "give one factor and one offset per column",
            );
            return self;
        }
        let (scale, offset) = (scale.to_vec(), offset.to_vec());
        self.push(Affine { x: self.site(), scale, offset }, width)
    }
}

impl Operation for Affine {
    const NAME: &str = "affine";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }

    fn constants(&self) -> Vec<f64> {
        [&self.scale[..], &self.offset].concat()
    }
}
