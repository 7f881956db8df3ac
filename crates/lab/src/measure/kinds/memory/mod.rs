//! What a policy reads from its memory: interventions on the forward, parameters unchanged.
//!
//! The panel is rolled again with less history ([`masking`](fn@masking)) or with another
//! trajectory's history ([`donor`](fn@donor)), and the errors are compared trajectory by
//! trajectory. Attention mass and input weights look at the policy without changing anything.

mod attention;
mod donor;
mod input_weight;
mod masking;

use backcut_kernels::reduce;

pub use attention::attention;
pub use donor::{donor, donor_with, panel_derangement};
pub use input_weight::input_weight;
pub use masking::masking;

use crate::measure::define::{Definition, define};
use crate::measure::finding::Finding;

/// What its quantities are.
pub const DEFINITIONS: &[Definition] = &[
    define(
        "memory",
        "panel.error",
        "mean over the panel's trajectories i of the evaluation error e_i, the forward as trained",
    ),
    define(
        "memory",
        "masking.error",
        "the same with a window of w positions at evaluation only (part w=...), parameters \
         unchanged",
    ),
    define("memory", "masking.change", "masking.error - panel.error"),
    define("memory", "masking.relative", "mean over i of (e_i(w) - e_i) / e_i"),
    define(
        "memory",
        "donor.error",
        "panel.error when row i reads the stored history of trajectory d(i) != i, d a fixed \
         derangement; the recipient's token and state are its own and evolve freely",
    ),
    define("memory", "donor.cost", "v_I1 = donor.error - panel.error"),
    define("memory", "donor.relative", "mean over i of (e_i(donor) - e_i) / e_i"),
    define(
        "memory",
        "attention.mass",
        "mean over trajectories and queries t >= 1 of sum over j < t of p_tj, per layer and head",
    ),
    define(
        "memory",
        "attention.age",
        "sum over the ages a of a bin of the mean, over trajectories, heads and the queries t >= \
         a, of p_t,t-a, per layer",
    ),
    define(
        "memory",
        "input_weight.norm",
        "square root of the sum of squares of the weights that read some input columns",
    ),
];

/// Mean of (other - base) / base over trajectories, or why there is none.
fn mean_relative(base: &[f64], other: &[f64]) -> Result<f64, String> {
    if let Some(row) = base.iter().position(|e| *e == 0.0) {
        return Err(format!("the error of trajectory {row} is 0: no relative change"));
    }
    let each: Vec<f64> = base.iter().zip(other).map(|(b, o)| (o - b) / b).collect();
    Ok(reduce::sum(&each) / each.len() as f64)
}

/// The finding for a value that may be undefined.
fn found(quantity: &str, part: &str, value: Result<f64, String>) -> Finding {
    match value {
        Ok(value) => Finding::new(quantity, "", part, value),
        Err(why) => Finding::undefined(quantity, "", part, &why),
    }
}
