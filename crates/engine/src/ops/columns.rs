//! The form of an instruction for narrow values: entries in the lists of [`backcut_kernels::columns`].

use backcut_kernels::columns;
use backcut_kernels::elementwise::Put;

use super::{Arithmetic, Function};
use crate::compile::graph::Graph;
use crate::compile::narrow::Narrow;
use crate::trace::Site;

pub(crate) type ColumnForward = columns::Forward<Function, Arithmetic>;
pub(crate) type ColumnBackward = columns::Backward<Function, Arithmetic>;

/// An instruction that can run column by column, to the bits that it has in rows.
pub(crate) trait InColumns {
    fn values(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnForward>);
    /// What it sends to its operands, in the order and manner of its `backward`.
    fn adjoints(&self, at: ColumnSite<'_>, list: &mut Vec<ColumnBackward>);
}

/// Where an instruction's columns lie, and its operands'.
#[derive(Clone, Copy)]
pub(crate) struct ColumnSite<'a> {
    pub narrow: &'a Narrow,
    pub graph: &'a Graph,
    pub site: Site,
}

impl ColumnSite<'_> {
    /// The place of its own value, and of its own adjoint.
    pub fn own(self) -> usize {
        self.narrow.at(self.site)
    }

    /// Columns of its own value.
    pub fn width(self) -> usize {
        self.graph.width(self.site)
    }

    /// An operand's place.
    pub fn of(self, operand: Site) -> usize {
        self.narrow.at(operand)
    }

    /// The place of its constants.
    pub fn constants(self) -> usize {
        self.graph.constants(self.site).start
    }

    /// How the `index`-th operand receives its adjoint; `None` if it receives nothing.
    pub fn put(self, index: usize) -> Option<Put> {
        self.graph.flows[self.site][index].put()
    }
}
