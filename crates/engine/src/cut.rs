//! A backward graph as a value: which derivative edges stay.
//!
//! A [`Cut`] has a physical half (how many state edges a loss may pass) and a memory half (what later
//! queries may give to what an earlier step stored). Names parse and print both ways:
//!
//! | name | state edges | memory edges from an earlier step |
//! | --- | --- | --- |
//! | `FF` | all | all |
//! | `FD` | all | none: stored keys and values are constants |
//! | `F_SG` | all | the projections receive credit, the stored representation does not |
//! | `SEG-8` | all | as `FF` inside a segment of 8 steps, as `F_SG` to earlier segments |
//! | `F_A0.5` | all | the projections receive all, the representation half |
//! | `KF`, `KD`, `K_SG`, ... | a loss reaches the action that produced its state, no further | as above |
//! | `K4F`, `K4_SG`, ... | at most 3 state edges along any path | as above |
//!
//! For a register the linear sites that read it *directly* play the part of the projections: `FD` makes
//! their whole output a constant, `F_SG` keeps their weights' credit. A register that reaches a linear
//! site through something else (a concatenation, a norm) has no projection of its own; there `FD` and
//! `F_SG` both stop at the register's value.
//!
//! Parsing keeps what was asked: `SEG-1` is not rewritten into `F_SG`, although their gradients are
//! the same bits.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use backcut_text::Hinted;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How far a loss travels through physical states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StateCredit {
    /// Through every earlier state.
    Full,
    /// Along any path at most `k - 1` state edges; `k = 1` is the K of the paper.
    Steps(NonZeroU32),
}

/// A factor between 0 and 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Alpha(f64);

impl Alpha {
    /// Checks the range.
    pub fn new(alpha: f64) -> Option<Self> {
        // Adding zero turns -0 into +0, so that equal factors have equal bits.
        (0.0..=1.0).contains(&alpha).then_some(Self(alpha + 0.0))
    }

    /// The factor.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Alpha {}
impl std::hash::Hash for Alpha {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// What later queries give to what an earlier step stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryCredit {
    /// Everything.
    Full,
    /// Nothing: projected keys and values of earlier steps are constants.
    Projected,
    /// The projections' weights only, across segment boundaries; everything inside a segment.
    Stored {
        /// Steps per segment; `None` is the stop-gradient of every step (`F_SG`).
        segment: Option<NonZeroU32>,
    },
    /// The weights receive everything, the stored representation this factor of it.
    Scaled {
        /// 0 is `F_SG`, 1 is `FF`.
        alpha: Alpha,
    },
}

impl MemoryCredit {
    /// Neither a stored representation nor anything before it receives credit from a later step.
    pub fn is_detached(self) -> bool {
        match self {
            Self::Projected | Self::Stored { segment: None } => true,
            Self::Stored { segment: Some(length) } => length.get() == 1,
            Self::Scaled { alpha } => alpha.get() == 0.0,
            Self::Full => false,
        }
    }
}

/// A backward graph: which derivative edges of a rollout stay.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cut {
    /// The physical half.
    pub state: StateCredit,
    /// The memory half.
    pub memory: MemoryCredit,
}

impl Cut {
    /// Full credit on both paths.
    pub const FF: Self = Self { state: StateCredit::Full, memory: MemoryCredit::Full };
    /// Full physical credit, projected cache detached.
    pub const FD: Self = Self { state: StateCredit::Full, memory: MemoryCredit::Projected };
    /// Full physical credit, stop-gradient at stored representations.
    pub const F_SG: Self =
        Self { state: StateCredit::Full, memory: MemoryCredit::Stored { segment: None } };
    /// One-step physical credit, full memory credit.
    pub const KF: Self = Self { state: StateCredit::Steps(NonZeroU32::MIN), ..Self::FF };
    /// One-step physical credit, projected cache detached.
    pub const KD: Self = Self { state: StateCredit::Steps(NonZeroU32::MIN), ..Self::FD };
    /// One-step physical credit, stop-gradient at stored representations.
    pub const K_SG: Self = Self { state: StateCredit::Steps(NonZeroU32::MIN), ..Self::F_SG };

    /// The six graphs of the paper.
    pub const SIX: [Self; 6] = [Self::FF, Self::FD, Self::F_SG, Self::KF, Self::KD, Self::K_SG];

    /// `SEG-L`: full credit inside segments of `length` steps; `None` for a length of zero.
    pub fn segments(length: u32) -> Option<Self> {
        let segment = Some(NonZeroU32::new(length)?);
        Some(Self { state: StateCredit::Full, memory: MemoryCredit::Stored { segment } })
    }

    /// A hash that stays the same across releases and machines (FNV-1a of the canonical name).
    pub fn stable_hash(&self) -> u64 {
        self.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let physical = match self.state {
            StateCredit::Full => "F".to_owned(),
            StateCredit::Steps(k) if k.get() == 1 => "K".to_owned(),
            StateCredit::Steps(k) => format!("K{k}"),
        };
        let name = match self.memory {
            MemoryCredit::Full => format!("{physical}F"),
            MemoryCredit::Projected => format!("{physical}D"),
            MemoryCredit::Stored { segment: None } => format!("{physical}_SG"),
            MemoryCredit::Stored { segment: Some(length) } if physical == "F" => {
                format!("SEG-{length}")
            }
            MemoryCredit::Stored { segment: Some(length) } => format!("{physical}_SEG-{length}"),
            MemoryCredit::Scaled { alpha } => format!("{physical}_A{}", alpha.get()),
        };
        f.pad(&name)
    }
}

/// Why a text is not a cut, and what would be one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is not a cut: {reason}")]
pub struct CutError {
    text: String,
    reason: String,
    hint: &'static str,
}

impl Hinted for CutError {
    fn hint(&self) -> Cow<'_, str> {
        self.hint.into()
    }
}

const GRAMMAR: &str = "a cut is F, K or K<k> (physical credit), then F, D, _SG, _SEG-<L> or _A<alpha> (memory credit): FF FD KF KD F_SG K_SG SEG-8 K_SEG-8 K4F F_A0.5";

impl FromStr for Cut {
    type Err = CutError;

    fn from_str(text: &str) -> Result<Self, CutError> {
        let error = |reason: String, hint| CutError { text: text.to_owned(), reason, hint };
        let upper = text.trim().to_ascii_uppercase();
        let upper = if upper.starts_with("SEG-") { format!("F_{upper}") } else { upper };
        let mut rest = upper.as_str();
        let state = if let Some(after) = rest.strip_prefix('F') {
            rest = after;
            StateCredit::Full
        } else if let Some(after) = rest.strip_prefix('K') {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            rest = &after[digits..];
            let steps = if digits == 0 { Some(1) } else { after[..digits].parse::<u32>().ok() };
            let steps = steps.and_then(NonZeroU32::new).ok_or_else(|| {
                error(
                    format!("physical credit of {} steps", &after[..digits]),
                    "K<k> needs k >= 1: K is one step, K4 is four; F is full physical credit",
                )
            })?;
            StateCredit::Steps(steps)
        } else {
            return Err(error("it names no physical credit (F, K or K<k>)".into(), GRAMMAR));
        };
        let memory = match rest {
            "F" => MemoryCredit::Full,
            "D" => MemoryCredit::Projected,
            "_SG" => MemoryCredit::Stored { segment: None },
            _ => {
                if let Some(length) = rest.strip_prefix("_SEG-") {
                    let segment = length.parse().ok().and_then(NonZeroU32::new);
                    if segment.is_none() {
                        return Err(error(
                            format!("a segment of `{length}` steps"),
                            "SEG-<L> needs a whole number L >= 1; SEG-1 equals F_SG, SEG-<T> equals FF",
                        ));
                    }
                    MemoryCredit::Stored { segment }
                } else if let Some(factor) = rest.strip_prefix("_A") {
                    let alpha = factor.parse().ok().and_then(Alpha::new).ok_or_else(|| {
                        error(
                            format!("a factor of `{factor}`"),
                            "_A<alpha> needs a factor from 0 (as F_SG) to 1 (as FF), such as F_A0.5",
                        )
                    })?;
                    MemoryCredit::Scaled { alpha }
                } else {
                    return Err(error(format!("`{rest}` is no memory credit"), GRAMMAR));
                }
            }
        };
        Ok(Self { state, memory })
    }
}

impl Serialize for Cut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cut {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|e: CutError| serde::de::Error::custom(format!("{e}; {}", e.hint())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_names_round_trip() {
        for name in [
            "FF", "FD", "KF", "KD", "F_SG", "K_SG", "SEG-8", "SEG-1", "K_SEG-8", "K4F", "K4_SG",
            "K12D", "F_A0.5", "F_A0", "F_A1", "K3_A0.25",
        ] {
            let cut: Cut = name.parse().unwrap();
            assert_eq!(cut.to_string(), name);
            let json = serde_json::to_string(&cut).unwrap();
            assert_eq!(serde_json::from_str::<Cut>(&json).unwrap(), cut);
        }
    }

    #[test]
    fn input_is_case_insensitive_and_has_short_forms() {
        let parse = |s: &str| s.parse::<Cut>().unwrap();
        assert_eq!(parse("f_sg"), Cut::F_SG);
        assert_eq!(parse("F_SEG-8"), parse("seg-8"));
        assert_eq!(parse("K1F"), Cut::KF);
        assert_eq!(parse("f_a-0.0").to_string(), "F_A0");
    }

    #[test]
    fn what_was_asked_is_kept() {
        let parse = |s: &str| s.parse::<Cut>().unwrap();
        assert_ne!(parse("SEG-1"), Cut::F_SG);
        assert_ne!(parse("F_A0"), Cut::F_SG);
        assert_ne!(parse("SEG-1").stable_hash(), Cut::F_SG.stable_hash());
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for bad in
            ["", "FX", "SEG-0", "SEG-", "K0F", "K", "F", "F_A1.5", "F_Anan", "F_A", "X_SG", "FFF"]
        {
            let error = bad.parse::<Cut>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{bad}`")), "{error}");
            assert!(!error.hint().is_empty());
        }
    }

    #[test]
    fn hashes_are_stable() {
        assert_eq!(Cut::FF.stable_hash(), 0x0905_8207_b59e_eacd);
    }
}
