//! Narrow instructions column by column: entries in the lists of [`backcut_kernels::columns`], to
//! the bits that `forward` and `backward` give in rows.

use backcut_kernels::columns::{Backward, Forward};
use backcut_kernels::elementwise::{Operand, Put};

use crate::compile::graph::Graph;
use crate::trace::Site;
use crate::trace::ops::{
    Affine, Arithmetic, Binary, Concat, Function, Op, RowSum, Slice, Unary, WeightedSquare,
};

pub(crate) type ColumnForward = Forward<Function, Arithmetic>;
pub(crate) type ColumnBackward = Backward<Function, Arithmetic>;

/// Where an instruction's columns lie, and its operands'.
#[derive(Clone, Copy)]
pub(super) struct ColumnSite<'a> {
    pub graph: &'a Graph,
    /// Of every site, among values and among adjoints.
    pub places: &'a [Option<usize>],
    pub site: Site,
}

impl ColumnSite<'_> {
    fn of(self, site: Site) -> usize {
        self.places[site].expect("every operand of a narrow site has columns")
    }

    /// How the `index`-th operand receives its adjoint; `None` if it receives nothing.
    fn put(self, index: usize) -> Option<Put> {
        self.graph.flows[self.site][index].put()
    }

    /// Computes the site's value.
    pub fn values(self, list: &mut Vec<ColumnForward>) {
        let (y, n) = (self.of(self.site), self.graph.width(self.site));
        let at = self.graph.constants(self.site).start;
        match &self.graph.nodes[self.site].op {
            Op::Affine(Affine { x, .. }) => {
                list.push(Forward::Affine { x: self.of(*x), y, n, at });
            }
            &Op::Binary(Binary { function: op, a, b }) => {
                let single = self.graph.width(b) != n;
                list.push(Forward::Binary { op, a: self.of(a), b: self.of(b), y, n, single });
            }
            Op::Concat(Concat(parts)) => {
                let mut y = y;
                for &part in parts {
                    let n = self.graph.width(part);
                    list.push(Forward::Copy { x: self.of(part), y, n });
                    y += n;
                }
            }
            Op::RowSum(RowSum(x)) => {
                let (n, x) = (self.graph.width(*x), self.of(*x));
                list.push(Forward::RowSum { x, y, n });
            }
            Op::Slice(Slice { x, start }) => {
                list.push(Forward::Copy { x: self.of(*x) + start, y, n });
            }
            &Op::Unary(Unary { function: op, x }) => {
                list.push(Forward::Unary { op, x: self.of(x), y, n });
            }
            Op::WeightedSquare(WeightedSquare { x, weight }) => {
                let (n, x) = (weight.len(), self.of(*x));
                list.push(Forward::WeightedSquare { x, y, n, at });
            }
            _ => {}
        }
    }

    /// What the site sends to its operands, in the order and manner of its backward in rows.
    pub fn adjoints(self, list: &mut Vec<ColumnBackward>) {
        let (dy, n) = (self.of(self.site), self.graph.width(self.site));
        let at = self.graph.constants(self.site).start;
        let operands = self.graph.operands[self.site].iter().enumerate();
        let mut first = dy;
        for (index, &operand) in operands {
            let (width, dx) = (self.graph.width(operand), self.of(operand));
            let part = first;
            first += width;
            let Some(put) = self.put(index) else { continue };
            match &self.graph.nodes[self.site].op {
                Op::Affine(_) => list.push(Backward::Affine { dy, dx, n, at, put }),
                &Op::Binary(Binary { function: op, a, b }) => {
                    let operand = if index == 0 { Operand::First } else { Operand::Second };
                    let (places, single) = ([self.of(a), self.of(b), dy], self.graph.width(b) != n);
                    list.push(Backward::Binary { op, operand, places, dy, dx, n, single, put });
                }
                Op::Concat(_) => list.push(Backward::Copy { dy: part, dx, n: width, put }),
                Op::RowSum(_) => list.push(Backward::RowSum { dy, dx, n: width, put }),
                Op::Slice(Slice { start, .. }) => {
                    if put == Put::Store {
                        list.push(Backward::Zero { dx, n: width });
                    }
                    list.push(Backward::Copy { dy, dx: dx + start, n, put: Put::Add });
                }
                &Op::Unary(Unary { function: op, .. }) => {
                    list.push(Backward::Unary { op, x: dx, y: dy, dy, dx, n, put });
                }
                Op::WeightedSquare(_) => {
                    list.push(Backward::WeightedSquare { x: dx, dy, dx, n: width, at, put });
                }
                _ => {}
            }
        }
    }
}

/// Whether an instruction has such a form.
pub(super) fn has_columns(op: &Op) -> bool {
    matches!(
        op,
        Op::Affine(_)
            | Op::Binary(_)
            | Op::Concat(_)
            | Op::RowSum(_)
            | Op::Slice(_)
            | Op::Unary(_)
            | Op::WeightedSquare(_)
    )
}
