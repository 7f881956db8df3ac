//! What judging a family gives: a row per contrast, and what belongs to all of them.

use serde::Serialize;

use super::params::Bound;
use crate::contrast::Direction;
use crate::leave_one_out::LeaveOneOut;
use crate::signflip::SignFlip;
use crate::verdict::Verdict;

/// One contrast, judged.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FamilyRow {
    /// The contrast's name.
    pub name: String,
    /// The expression as it was written.
    pub expression: String,
    /// The predicted direction.
    pub direction: Option<Direction>,
    /// What is known about when it was fixed: nothing, see [`crate::verdict::STATUS`].
    pub status: &'static str,
    /// Independent units: sources, or clusters of them.
    pub n: usize,
    /// The mean over units, or the ratio of two means.
    pub estimate: f64,
    /// The pointwise percentile interval at 1 - alpha.
    pub pointwise: [f64; 2],
    /// The endpoints that decide: simultaneous, or one-sided bounds.
    pub family: [f64; 2],
    /// Units above, below and at zero (relative to the margin, if there is one).
    pub above: usize,
    /// Units below.
    pub below: usize,
    /// Units exactly at it.
    pub at: usize,
    /// Units on the side that the claim is about: the predicted one, under the margin, or the
    /// estimate's.
    pub agreeing: usize,
    /// The exact one-sided sign test on `agreeing` (units exactly at the line left out); absent for
    /// ratios.
    pub sign_test_p: Option<f64>,
    /// The sign-flip test.
    pub exact: SignFlip,
    /// Its p-value times the family size, at most 1.
    pub adjusted_p: f64,
    /// The smallest adjusted p-value that was possible.
    pub adjusted_floor: f64,
    /// What leaving out each unit does to the estimate.
    pub leave_one_out: LeaveOneOut,
    /// The decision.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: String,
}

/// A judged family.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Rows of the table, which are sources unless there are clusters.
    pub sources: usize,
    /// Independent units.
    pub units: usize,
    /// What a unit is called: `sources` or `clusters`.
    pub unit_name: &'static str,
    /// How many comparisons share the level.
    pub family_size: usize,
    /// The level.
    pub alpha: f64,
    /// The kind of bound that decides.
    pub bound: Bound,
    /// The noninferiority margin.
    pub margin: Option<f64>,
    /// Bootstrap draws; 0 if the normal limit was taken ([`crate::limit::LARGE`]).
    pub draws: usize,
    /// The seed of every draw.
    pub seed: u64,
    /// The generator that the seed belongs to.
    pub generator: &'static str,
    /// The rows, in the order of the contrasts.
    pub rows: Vec<FamilyRow>,
    /// What a reader must know beside the numbers.
    pub notes: Vec<String>,
}
