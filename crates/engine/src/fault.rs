//! Where a non-finite number first appeared.

use std::fmt;

use backcut_kernels::Real;

use crate::trace::Node;

/// Forward or backward.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// While rolling.
    Forward,
    /// While differentiating.
    Backward,
}

/// The first NaN or infinity of a pass, in the order in which the pass runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// Which pass.
    pub phase: Phase,
    /// The instruction, as named in the trace.
    pub instruction: String,
    /// The step.
    pub step: usize,
    /// The trajectory.
    pub row: usize,
    /// The column.
    pub column: usize,
    /// The value found.
    pub value: f64,
    /// In the backward: the edge along which it came.
    pub edge: Option<String>,
}

impl Fault {
    /// The first non-finite element of `[row][column]` values.
    pub(crate) fn find<R: Real>(
        phase: Phase,
        node: &Node,
        step: usize,
        values: &[R],
    ) -> Option<Self> {
        let at = values.iter().position(|v| !v.is_finite())?;
        Some(Self {
            phase,
            instruction: format!("{} `{}`", node.op.name(), node.label),
            step,
            row: at / node.width,
            column: at % node.width,
            value: values[at].to_f64(),
            edge: None,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.phase {
            Phase::Forward => "value",
            Phase::Backward => "adjoint",
        };
        write!(
            f,
            "{what} {} at {}, step {}, trajectory {}, column {}",
            self.value, self.instruction, self.step, self.row, self.column
        )?;
        match &self.edge {
            Some(edge) => write!(f, ", arriving by {edge}"),
            None => Ok(()),
        }
    }
}
