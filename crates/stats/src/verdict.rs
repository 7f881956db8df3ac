//! What a row may say, and why.
//!
//! The bootstrap interval of the family decides; the exact test audits and its disagreement is
//! printed rather than resolved. A verdict is a short word with a sentence: a reader should never
//! have to infer from numbers which rule was applied.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The status of every row that is computed from a table: a table alone can not show that anything
/// was frozen before measurement. Who holds a ledger may know better and says so beside the row.
pub const STATUS: &str = "descriptive";

/// The decision on one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval excludes zero in the predicted direction, and the exact test agrees.
    Supported,
    /// The interval excludes zero in the predicted direction; the exact test does not reject.
    SupportedNotByExact,
    /// The interval excludes zero in the other direction.
    Contradicted,
    /// The interval contains zero.
    Unresolved,
    /// No direction was predicted; the interval lies above zero.
    AboveZero,
    /// As [`Verdict::AboveZero`], but the exact test does not reject.
    AboveZeroNotByExact,
    /// No direction was predicted; the interval lies below zero.
    BelowZero,
    /// As [`Verdict::BelowZero`], but the exact test does not reject.
    BelowZeroNotByExact,
    /// The upper bound is strictly below the margin, and the exact test agrees.
    Noninferior,
    /// The upper bound is strictly below the margin; the exact test does not reject.
    NoninferiorNotByExact,
    /// The upper bound reaches the margin.
    NotShown,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Supported,
        Self::SupportedNotByExact,
        Self::Contradicted,
        Self::Unresolved,
        Self::AboveZero,
        Self::AboveZeroNotByExact,
        Self::BelowZero,
        Self::BelowZeroNotByExact,
        Self::Noninferior,
        Self::NoninferiorNotByExact,
        Self::NotShown,
    ];

    /// The words a table shows.
    pub fn words(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::SupportedNotByExact => "supported, not confirmed by the exact test",
            Self::Contradicted => "contradicted",
            Self::Unresolved => "unresolved",
            Self::AboveZero => "above zero",
            Self::AboveZeroNotByExact => "above zero, not confirmed by the exact test",
            Self::BelowZero => "below zero",
            Self::BelowZeroNotByExact => "below zero, not confirmed by the exact test",
            Self::Noninferior => "noninferior",
            Self::NoninferiorNotByExact => "noninferior, not confirmed by the exact test",
            Self::NotShown => "noninferiority not shown",
        }
    }

    /// The decision of the interval alone, which the exact test only audits.
    #[must_use]
    pub fn by_interval(self) -> Self {
        match self {
            Self::SupportedNotByExact => Self::Supported,
            Self::AboveZeroNotByExact => Self::AboveZero,
            Self::BelowZeroNotByExact => Self::BelowZero,
            Self::NoninferiorNotByExact => Self::Noninferior,
            decided => decided,
        }
    }

    /// Whether something that was predicted turned out otherwise.
    pub fn failed(self) -> bool {
        matches!(self, Self::Contradicted | Self::NotShown)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// Words that no verdict is written in.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no verdict")]
pub struct VerdictError(String);

impl FromStr for Verdict {
    type Err = VerdictError;

    fn from_str(words: &str) -> Result<Self, VerdictError> {
        let found = Self::ALL.into_iter().find(|verdict| verdict.words() == words);
        found.ok_or_else(|| VerdictError(words.to_owned()))
    }
}

/// What a decision is made from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Evidence {
    /// The family interval or the pair of one-sided bounds.
    pub interval: [f64; 2],
    /// The predicted direction.
    pub direction: Option<crate::contrast::Direction>,
    /// The noninferiority margin.
    pub margin: Option<f64>,
    /// The adjusted exact p-value.
    pub adjusted_p: f64,
    /// The smallest adjusted p-value that the exact test could have given.
    pub floor: f64,
    /// The family's level.
    pub alpha: f64,
    /// What the test is called: only one that counts all patterns is exact.
    pub test: &'static str,
}

impl Evidence {
    /// The verdict and the reason in words.
    pub fn decide(&self) -> (Verdict, String) {
        use crate::contrast::Direction::{Negative, Positive};
        let [low, high] = self.interval;
        let rejects = self.adjusted_p <= self.alpha;
        let audit = self.audit(rejects);
        if let Some(margin) = self.margin {
            return if high < margin {
                let verdict =
                    if rejects { Verdict::Noninferior } else { Verdict::NoninferiorNotByExact };
                (verdict, format!("the upper bound is strictly below the margin {margin}; {audit}"))
            } else {
                let reason = format!("the upper bound is not below the margin {margin}; {audit}");
                (Verdict::NotShown, reason)
            };
        }
        let (side, plain, unconfirmed) = if low > 0.0 {
            (Positive, Verdict::AboveZero, Verdict::AboveZeroNotByExact)
        } else if high < 0.0 {
            (Negative, Verdict::BelowZero, Verdict::BelowZeroNotByExact)
        } else {
            return (Verdict::Unresolved, format!("the family interval contains zero; {audit}"));
        };
        let place = if side == Positive { "above" } else { "below" };
        match self.direction {
            None => {
                let verdict = if rejects { plain } else { unconfirmed };
                (verdict, format!("the family interval lies {place} zero; {audit}"))
            }
            Some(predicted) if predicted == side => {
                let verdict =
                    if rejects { Verdict::Supported } else { Verdict::SupportedNotByExact };
                (verdict, format!("the family interval lies {place} zero, as predicted; {audit}"))
            }
            Some(_) => {
                let reason = format!(
                    "the family interval lies {place} zero, against the prediction; {audit}"
                );
                (Verdict::Contradicted, reason)
            }
        }
    }

    fn audit(&self, rejects: bool) -> String {
        let Self { adjusted_p, floor, alpha, test, .. } = self;
        if *floor > *alpha {
            return format!(
                "{test} can not reach an adjusted p below {floor:.3} here, so it can reject nothing"
            );
        }
        let p = backcut_text::format::p_value(*adjusted_p);
        if rejects {
            format!("{test} rejects (adjusted p {p})")
        } else {
            format!("{test} does not reject (adjusted p {p})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::Direction;

    fn evidence(interval: [f64; 2]) -> Evidence {
        let (direction, margin) = (Some(Direction::Positive), None);
        let test = "the exact test";
        Evidence { interval, direction, margin, adjusted_p: 0.01, floor: 0.001, alpha: 0.05, test }
    }

    #[test]
    fn every_verdict_reads_back_from_its_words() {
        for verdict in Verdict::ALL {
            assert_eq!(verdict.words().parse(), Ok(verdict));
        }
        assert!("Supported".parse::<Verdict>().is_err());
    }

    #[test]
    fn direction_decides() {
        assert_eq!(evidence([0.1, 0.2]).decide().0, Verdict::Supported);
        assert_eq!(evidence([-0.2, -0.1]).decide().0, Verdict::Contradicted);
        assert_eq!(evidence([0.0, 0.2]).decide().0, Verdict::Unresolved);
        assert_eq!(evidence([-0.2, 0.0]).decide().0, Verdict::Unresolved);
        let undirected = Evidence { direction: None, ..evidence([-0.2, -0.1]) };
        assert_eq!(undirected.decide().0, Verdict::BelowZero);
    }

    #[test]
    fn the_exact_test_audits_and_its_floor_is_said() {
        let floored = Evidence { adjusted_p: 0.055, floor: 0.055, ..evidence([0.1, 0.2]) };
        let (verdict, reason) = floored.decide();
        assert_eq!(verdict, Verdict::SupportedNotByExact);
        assert!(reason.contains("can not reach an adjusted p below 0.055"), "{reason}");
        let reached = Evidence { adjusted_p: 0.05, floor: 0.05, ..evidence([0.1, 0.2]) };
        let (verdict, reason) = reached.decide();
        assert_eq!(verdict, Verdict::Supported);
        assert!(reason.contains("the exact test rejects (adjusted p 0.05"), "{reason}");
    }

    #[test]
    fn the_margin_is_strict() {
        let at = |high| Evidence { margin: Some(0.05), direction: None, ..evidence([0.0, high]) };
        assert_eq!(at(0.049).decide().0, Verdict::Noninferior);
        assert_eq!(at(0.05).decide().0, Verdict::NotShown);
    }
}
