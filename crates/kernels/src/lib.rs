//! Fixed-order numeric primitives: the same bits on every machine.
//!
//! **Does**: matrix products, layer norm, GELU, attention of one query per row, elementwise
//! functions, ordered reductions, rules of optimizers, random streams, in `f32` and `f64`.
//!
//! **Refuses**: to know what a policy, a cut or a system is; to allocate on a hot path; to spawn
//! threads; to call the platform's transcendental functions.
//!
//! **One design decision.** Every kernel is written once as safe, inlined Rust and compiled three
//! times (AVX-512, AVX2 with FMA, portable) behind the crate's `dispatch!` macro. Vectors run across
//! *outputs*; a sum over an index runs in that index's order, or in a fixed pattern of partial sums
//! that does not depend on the vector width. So the three paths give identical bits, and a test says so.

mod aligned;
pub mod attention;
pub mod columns;
pub mod elementwise;
pub mod gelu;
pub mod hash;
pub mod isa;
pub mod math;
pub mod norm;
pub mod optim;
mod pages;
pub mod product;
pub mod random;
mod real;
pub mod reduce;
pub mod slices;
mod vectors;

pub use aligned::Aligned;
pub use isa::Isa;
pub use real::Real;

/// The version of this crate's results, part of every unit's identity. It goes up whenever the bits of
/// any kernel, function or random stream change, so that old and new results are never mixed.
pub const NUMERICS_VERSION: u32 = 1;
