//! `a - [b, b, ..., b]`: a repeated operand along the columns.

use super::Operation;
use crate::trace::{Site, Var};

/// `a - [b, b, ..., b]`, with `b` repeated `times` times.
#[derive(Clone, PartialEq, Debug)]
pub struct SubTiled {
    pub a: Site,
    pub b: Site,
    pub times: usize,
}

impl Var<'_> {
    /// `self - [b, b, ..., b]`: a repeated operand along the columns.
    #[track_caller]
    pub fn sub_tiled(self, b: Self) -> Self {
        self.trace().check_own("sub_tiled", &[b]);
        let (wide, narrow) = (self.width(), b.width());
        if narrow == 0 || wide % narrow != 0 || self.scope() != b.scope() {
            self.trace().fail(
                format!("{narrow} columns do not tile {wide}"),
                "the repeated operand's width must divide the other's",
            );
            return self;
        }
        self.push(SubTiled { a: self.site(), b: b.site(), times: wide / narrow }, wide)
    }
}

impl Operation for SubTiled {
    const NAME: &str = "sub tiled";

    fn operands(&self) -> Vec<Site> {
        vec![self.a, self.b]
    }
}
