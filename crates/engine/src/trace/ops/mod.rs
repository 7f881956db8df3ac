//! The instructions that a step is made of, each in one place.
//!
//! **A new function of one or two arguments** is a block of the table in `functions` or
//! `arithmetic`. **A new instruction of another kind** is a file here and its two lines below: a
//! type with its operands, its method on `Var` or `Trace`, and what `Operation` asks for (value,
//! adjoint, what its derivative reads, its columns, how random programs draw it), and its line in
//! the interpreter of `backcut-oracle`, which says it once more. Nothing else outside this folder
//! needs to know it.

#![allow(
    missing_docs,
    reason = "an instruction's fields are the letters of its formula, which its type says"
)]

mod affine;
mod arithmetic;
mod attend;
mod binary;
mod carried;
mod concat;
mod cross;
mod functions;
mod gelu;
mod given;
mod layer_norm;
mod linear;
mod matrix;
mod operation;
mod recall;
mod row_sum;
mod set_attend;
mod slice;
mod softmax;
mod step_row;
mod stop;
mod sub_tiled;
mod unary;
mod weighted_square;

pub use arithmetic::Arithmetic;
use functions::DRIFTS;
pub use functions::Function;
pub use operation::Drift;
use operation::Operation;

use crate::trace::{ParamId, Site};

operation::operations! {
    given::Input,
    given::Constant,
    carried::State,
    carried::Register,
    step_row::StepRow,
    recall::Recall,
    linear::Linear,
    layer_norm::LayerNorm,
    gelu::Gelu,
    attend::Attend,
    cross::Cross,
    set_attend::SetAttend,
    unary::Unary,
    binary::Binary,
    affine::Affine,
    slice::Slice,
    concat::Concat,
    sub_tiled::SubTiled,
    row_sum::RowSum,
    weighted_square::WeightedSquare,
    softmax::Softmax,
    matrix::Matrix,
    stop::StopGradient,
}
