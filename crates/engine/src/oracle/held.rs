//! Which columns hold a register as it is.

use crate::compile::program::Program;
use crate::ops::{Concat, Op, Register, Slice};

/// For each column of each site of the step, the register that it holds as it is: read, sliced, put side by side.
pub(super) fn held_registers(program: &Program) -> Vec<Vec<Option<usize>>> {
    let mut held: Vec<Vec<Option<usize>>> = Vec::new();
    for node in program.nodes() {
        held.push(match &node.op {
            Op::Register(Register(index)) => vec![Some(*index); node.width],
            Op::Slice(Slice { x, start }) => held[*x][*start..start + node.width].to_vec(),
            Op::Concat(Concat(parts)) => {
                parts.iter().flat_map(|&part| held[part].clone()).collect()
            }
            _ => vec![None; node.width],
        });
    }
    held
}
