//! Some columns of a value.

use super::Operation;
use crate::trace::{Site, Var};

/// Some columns of `x`, from `start`.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
    pub x: Site,
    pub start: usize,
}

impl Var<'_> {
    /// Columns `start..start + width`.
    #[track_caller]
    pub fn slice(self, start: usize, width: usize) -> Self {
        if width == 0 || start + width > self.width() {
            self.trace().fail(
                format!("columns {start}..{} of {} columns", start + width, self.width()),
                "stay inside the value's columns",
            );
            return self;
        }
        self.push(Slice { x: self.site(), start }, width)
    }

    /// The value in parts of these widths, which must cover it: `let [position, velocity] =
    /// state.split([2, 2])`.
    #[track_caller]
    pub fn split<const N: usize>(self, widths: [usize; N]) -> [Self; N] {
        let all: usize = widths.iter().sum();
        if all != self.width() || widths.contains(&0) {
            self.trace().fail(
                format!("parts of {widths:?} columns of a value of {}", self.width()),
                "parts cover a value, and none is empty",
            );
            return [self; N];
        }
        let mut start = 0;
        widths.map(|width| {
            start += width;
            self.slice(start - width, width)
        })
    }

    /// One column.
    #[track_caller]
    pub fn column(self, index: usize) -> Self {
        self.slice(index, 1)
    }
}

impl Operation for Slice {
    const NAME: &str = "slice";

    fn operands(&self) -> Vec<Site> {
        vec![self.x]
    }
}
