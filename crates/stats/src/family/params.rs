//! What a family is made of, and the check that lets it run.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::contrast::Contrast;
use crate::error::StatsError;
use crate::signflip::{MAX_EXACT, SignFlipOptions};

/// Draws of every bootstrap that does not say otherwise.
pub const DRAWS: usize = 100_000;

/// The seed of those draws.
pub const SEED: u64 = 0;

/// The least and the most draws that are accepted.
const ACCEPTED_DRAWS: std::ops::RangeInclusive<usize> = 1_000..=10_000_000;

/// Which endpoints a family of size M uses at level alpha.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Both ends at once: alpha / (2M) and 1 - alpha / (2M).
    #[default]
    TwoSided,
    /// One end, fixed in advance: alpha / M or 1 - alpha / M. The two are not a joint interval.
    OneSided,
}

impl Bound {
    /// The share of draws beyond one end.
    pub fn tail(self, alpha: f64, family_size: usize) -> f64 {
        match self {
            Self::TwoSided => alpha / (2.0 * family_size as f64),
            Self::OneSided => alpha / family_size as f64,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TwoSided => "two-sided",
            Self::OneSided => "one-sided",
        })
    }
}

/// A word that is no kind of bound.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no kind of bound (two-sided, one-sided)")]
pub struct BoundError(String);

impl FromStr for Bound {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        let is_it = |bound: &Self| bound.to_string() == text;
        [Self::TwoSided, Self::OneSided]
            .into_iter()
            .find(is_it)
            .ok_or_else(|| BoundError(text.to_owned()))
    }
}

/// A family as asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct FamilyParams {
    /// The comparisons to report.
    pub contrasts: Vec<Contrast>,
    /// How many comparisons the family has, reported or not; by default as many as are given.
    pub size: Option<usize>,
    /// The level that the family shares.
    pub alpha: f64,
    /// The noninferiority margin; without it, contrasts are compared with zero.
    pub margin: Option<f64>,
    /// The kind of bound that decides.
    pub bound: Bound,
    /// Bootstrap draws.
    pub draws: usize,
    /// The seed of every draw.
    pub seed: u64,
    /// Up to this many sources the sign-flip test counts all patterns.
    pub exact_up_to: usize,
    /// Sign patterns drawn above that.
    pub patterns: u64,
}

impl FamilyParams {
    /// The defaults: level 0.05, two-sided, 100,000 draws, seed 0, all patterns up to 24 sources.
    pub fn new(contrasts: Vec<Contrast>) -> Self {
        let exact = SignFlipOptions::default();
        Self {
            contrasts,
            size: None,
            alpha: 0.05,
            margin: None,
            bound: Bound::TwoSided,
            draws: DRAWS,
            seed: SEED,
            exact_up_to: exact.exact_up_to,
            patterns: exact.draws,
        }
    }

    /// Refuses what can not run or would not mean what it says.
    pub fn check(self) -> Result<Family, StatsError> {
        let parameter =
            |name, value: String, problem| Err(StatsError::Parameter { name, value, problem });
        let given = self.contrasts.len();
        if given == 0 {
            return parameter("contrasts", "none".into(), "at least one is needed");
        }
        for (i, contrast) in self.contrasts.iter().enumerate() {
            if self.contrasts[..i].iter().any(|other| other.name == contrast.name) {
                let name = contrast.name.clone();
                return parameter("contrast name", name, "names in a family must differ");
            }
        }
        let size = self.size.unwrap_or(given);
        if size < given {
            let problem = "a family is at least as large as the contrasts given";
            return parameter("family size", size.to_string(), problem);
        }
        if !(self.alpha > 0.0 && self.alpha < 0.5) {
            return parameter("alpha", self.alpha.to_string(), "it lies in (0, 0.5)");
        }
        if !ACCEPTED_DRAWS.contains(&self.draws) {
            return parameter("draws", self.draws.to_string(), "it lies in 1,000 to 10,000,000");
        }
        if self.exact_up_to > MAX_EXACT {
            let problem = "all patterns are counted for at most 40 sources";
            return parameter("exact-up-to", self.exact_up_to.to_string(), problem);
        }
        if self.patterns == 0 {
            return parameter("patterns", "0".into(), "at least one is needed");
        }
        let directed = |c: &Contrast| c.direction.is_some();
        match self.margin {
            Some(margin) if !margin.is_finite() => {
                return parameter("margin", margin.to_string(), "it must be a finite number");
            }
            Some(margin) if self.contrasts.iter().any(directed) => {
                let problem =
                    "a contrast with a direction is compared with zero, not with a margin";
                return parameter("margin", margin.to_string(), problem);
            }
            None if self.bound == Bound::OneSided && !self.contrasts.iter().all(directed) => {
                let problem = "needs a margin, or a direction (> 0 or < 0) for every contrast";
                return parameter("one-sided", "true".into(), problem);
            }
            _ => {}
        }
        Ok(Family { params: self, size })
    }
}

/// A family that was checked and can run.
#[derive(Clone, PartialEq, Debug)]
pub struct Family {
    pub(super) params: FamilyParams,
    pub(super) size: usize,
}

impl Family {
    /// The parameters it was made from.
    pub fn params(&self) -> &FamilyParams {
        &self.params
    }

    /// How many comparisons share the level.
    pub fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(texts: &[&str]) -> FamilyParams {
        FamilyParams::new(texts.iter().map(|t| Contrast::parse(t).unwrap()).collect())
    }

    #[test]
    fn contradictory_requests_do_not_pass_the_check() {
        assert!(params(&["[a]", "[b]"]).check().is_ok());
        assert!(params(&[]).check().is_err());
        assert!(params(&["[a]", "[a]"]).check().is_err());
        assert!(FamilyParams { size: Some(1), ..params(&["[a]", "[b]"]) }.check().is_err());
        assert!(FamilyParams { size: Some(2), ..params(&["[a]", "[b]"]) }.check().is_ok());
        for alpha in [-0.1, 0.0, 0.5, 0.6, f64::NAN] {
            assert!(FamilyParams { alpha, ..params(&["[a]"]) }.check().is_err(), "{alpha}");
        }
        assert!(FamilyParams { exact_up_to: 40, ..params(&["[a]"]) }.check().is_ok());
        assert!(FamilyParams { exact_up_to: 41, ..params(&["[a]"]) }.check().is_err());
        assert!(FamilyParams { patterns: 0, ..params(&["[a]"]) }.check().is_err());
        assert!(FamilyParams { margin: Some(0.1), ..params(&["[a]"]) }.check().is_ok());
        assert!(FamilyParams { draws: 10, ..params(&["[a]"]) }.check().is_err());
        assert!(FamilyParams { margin: Some(f64::NAN), ..params(&["[a]"]) }.check().is_err());
        assert!(FamilyParams { margin: Some(0.1), ..params(&["[a] > 0"]) }.check().is_err());
        assert!(FamilyParams { bound: Bound::OneSided, ..params(&["[a]"]) }.check().is_err());
        assert!(FamilyParams { bound: Bound::OneSided, ..params(&["[a] < 0"]) }.check().is_ok());
    }

    #[test]
    fn tails_split_the_level() {
        assert_eq!(Bound::TwoSided.tail(0.05, 7), 0.05 / 14.0);
        assert_eq!(Bound::OneSided.tail(0.05, 7), 0.05 / 7.0);
    }
}
