//! Leave-one-source-out: does a statement hang on one source?
//!
//! It adds no evidence (the sources are the same); it shows influence.

use serde::Serialize;

/// The range of an estimate when each source is left out in turn.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LeaveOneOut {
    /// The smallest estimate.
    pub min: f64,
    /// The largest estimate.
    pub max: f64,
    /// How many of the estimates have the sign of the full one.
    pub sign_kept: usize,
}

/// Means of `values` without each entry in turn.
pub fn leave_one_out_means(values: &[f64]) -> Vec<f64> {
    let total: f64 = values.iter().sum();
    values.iter().map(|value| (total - value) / (values.len() as f64 - 1.0)).collect()
}

impl LeaveOneOut {
    /// Of a mean, or of a ratio of means when `denominators` are given.
    pub fn of(values: &[f64], denominators: Option<&[f64]>) -> Self {
        let mut estimates = leave_one_out_means(values);
        let mut full: f64 = values.iter().sum();
        if let Some(below) = denominators {
            for (estimate, below) in estimates.iter_mut().zip(leave_one_out_means(below)) {
                *estimate /= below;
            }
            full /= below.iter().sum::<f64>();
        }
        let same_sign = |e: &&f64| e.partial_cmp(&&0.0) == full.partial_cmp(&0.0);
        Self {
            min: estimates.iter().copied().fold(f64::INFINITY, f64::min),
            max: estimates.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            sign_kept: estimates.iter().filter(same_sign).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_source_can_carry_a_sign() {
        let range = LeaveOneOut::of(&[-1.0, -1.0, -1.0, 10.0], None);
        assert_eq!(range, LeaveOneOut { min: -1.0, max: 8.0 / 3.0, sign_kept: 3 });
        let ratio = LeaveOneOut::of(&[1.0, 2.0, 3.0], Some(&[2.0, 4.0, 6.0]));
        assert_eq!((ratio.min, ratio.max, ratio.sign_kept), (0.5, 0.5, 3));
    }
}
