//! Matrix products of a network step and of its gradient, in a fixed order of summation.
//!
//! **Does**: `out = finish(start + x w)` with `w` packed once and used at every step ([`product`]),
//! and the weight and bias gradients of that product over many steps ([`weight_gradient`],
//! [`bias_gradient`]).
//!
//! **Decision: written by hand.** The products here are short and wide (8 rows, 64 terms, 64 to 256
//! columns). General libraries split a long sum over `k` into blocks, treat one row differently
//! from eight, and give up half of the speed on such shapes. Here every output element is one chain
//! of fused multiply-adds: it begins with the start value, takes the terms in index order, and is
//! rounded once per term. Vectors run across outputs. So the bits of an element depend on its own
//! operands alone: not on the vector width, the tile that held it, the number of rows beside it, or
//! the grouping of steps into calls.
//!
//! | file | holds |
//! | --- | --- |
//! | `panels` | the packed layout of a weight matrix |
//! | `tile` | the register tile: the one hot loop of a product |
//! | `cover` | which tiles cover an output matrix |
//! | `dense` | the product: where a sum starts, what happens to it at the end |
//! | `gradient` | weight and bias gradients: the same idea over steps and rows |
//! | `vectors`, `x86` | registers and the instructions on them |
//! | `throughput` | how fast all this is, against the machine's practical peak |
//!
//! ```
//! use backcut_kernels::Isa;
//! use backcut_kernels::product::{Finish, Panels, Start, product};
//!
//! let isa = Isa::detect();
//! let mut w = Panels::zeros(2, 3);
//! w.pack(isa, &[1.0_f32, 2.0, 3.0, 10.0, 20.0, 30.0]);
//! let mut out = [0.0; 3];
//! let bias = [0.5, 0.5, 0.5];
//! product(isa, 1, &[1.0, 0.1], 2, &w, Start::Bias(&bias), Finish::Store, &mut out, 3);
//! assert_eq!(out, [2.5, 4.5, 6.5]);
//! ```

mod cover;
mod dense;
mod gradient;
mod panels;
mod throughput;
mod tile;

pub use dense::{Finish, Start, product};
pub use gradient::{Blocks, bias_gradient, weight_gradient};
pub use panels::{PANEL, Panels};
pub use throughput::{measure_peak, throughput, weight_gradient_throughput};
