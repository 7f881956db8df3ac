//! The project's own transcendental functions, in `f32` and `f64`.
//!
//! **Why not the platform's.** `libm` differs between machines, so a result that passes through
//! `x.exp()` cannot be reproduced elsewhere. These functions use only operations that IEEE 754
//! rounds in one way (`+ - * /`, fused multiply-add, comparisons) and integer arithmetic on bit
//! patterns; Rust never reassociates or contracts them. The same input therefore gives the same
//! bits on every code path and every machine.
//!
//! **Shape.** Every function is inlined and free of branches: both sides are computed and one is
//! selected. A loop over a slice then vectorises inside a kernel's target-feature wrapper;
//! [`crate::slices`] holds such loops. Rounding to an integer adds and subtracts 1.5 * 2^23 (or
//! 2^52), because a saturating float-to-integer cast does not vectorise well.
//!
//! **Special values.** A NaN argument gives the canonical NaN, so that payloads cannot make two
//! machines differ. Odd functions are evaluated at |x| and given back the sign: they are exactly
//! odd and keep the sign of zero. Sine, cosine and tangent have a stated domain and are NaN outside
//! it, loudly, rather than inaccurate.
//!
//! The stated errors are in units in the last place of the exact result; `tests/ulp.rs` checks
//! them. Coefficients come from `examples/fit_polynomials.py`.

pub mod f32;
pub mod f64;
