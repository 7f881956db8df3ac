//! A backward graph as a value: which derivative edges stay.
//!
//! A [`Cut`] has a physical half (how many state edges a loss may pass) and a memory half (what
//! later queries may give to what an earlier step stored). Names parse and print both ways:
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
//! | `RSEG-8` | all | as `SEG-8`, the first boundary drawn anew for every update |
//! | `RT-0.1` | all | as a segment that ends after every step with probability 0.1, drawn for every update |
//! | `URT-0.1` | all | the same, and what survives is scaled up: in the mean it is `FF` |
//!
//! **Parts.** `BASE:EDGE=CREDIT` treats some edges otherwise: `FF:keys=D`, `F_SG:block1=F`,
//! `FF:velocity=A0.5`, `FF:observation=D:block0.values=SG`. Every edge has a dotted name:
//! `block0.keys` and `block0.values` for the two sides of a cache, a register's own, a state's own
//! or `state.velocity` for a part of it, and what a trace declares with
//! [`Var::edge`](crate::Var::edge). A part names all edges whose names begin or end with it, and of
//! two parts the longer one decides. A part that names nothing is an error, as is one that a value
//! cannot have.
//!
//! For a register the columns of linear sites that hold it play the part of the projections: under
//! `FD` the weights of these columns receive nothing, under `F_SG` they do. `F_SG` is what
//! `h.detach()` is in PyTorch. Columns may be concatenated and sliced; a register that reaches a
//! linear site through anything else (a sum, a norm) has no projection of its own, and there `FD`
//! and `F_SG` both stop at the register's value.
//!
//! Parsing keeps what was asked: `SEG-1` is not rewritten into `F_SG`, although their gradients are
//! the same bits.

mod name;
mod parts;
mod words;

use std::num::NonZeroU32;

pub use name::CutError;
pub(crate) use parts::stands_for;
pub use parts::{Part, Parts};

/// How far a loss travels through physical states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StateCredit {
    /// Through every earlier state.
    Full,
    /// Along any path at most `k - 1` state edges; `k = 1` is the K of the paper.
    Steps(NonZeroU32),
}

impl StateCredit {
    /// A reach as long as the rollout is full credit.
    #[must_use]
    pub fn plainest(self, steps: usize) -> Self {
        match self {
            Self::Steps(k) if k.get() as usize >= steps => Self::Full,
            credit => credit,
        }
    }
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
    /// Segments whose first boundary is drawn for every update.
    Shifted {
        /// Steps per segment.
        length: NonZeroU32,
    },
    /// Every boundary between two steps is cut with this probability, drawn for every update.
    Random {
        /// 0 is `FF`, 1 is `F_SG`; below 1 where what survives is scaled up.
        chance: Alpha,
        /// What survives is divided by the probability that it does: the mean of the gradient is
        /// that of `FF`.
        unbiased: bool,
    },
}

impl MemoryCredit {
    /// Neither a stored representation nor anything before it receives credit from a later step.
    pub fn is_detached(self) -> bool {
        match self {
            Self::Projected | Self::Stored { segment: None } => true,
            Self::Stored { segment: Some(length) } | Self::Shifted { length } => length.get() == 1,
            Self::Scaled { alpha } => alpha.get() == 0.0,
            Self::Random { chance, .. } => chance.get() == 1.0,
            Self::Full => false,
        }
    }

    /// The plainest credit that keeps the same edges over so many steps: `SEG-1` is `SG`, and a
    /// segment as long as the rollout is none.
    #[must_use]
    pub fn plainest(self, steps: usize) -> Self {
        match self {
            Self::Stored { segment: Some(length) } if length.get() as usize >= steps => Self::Full,
            Self::Scaled { alpha } if alpha.get() == 1.0 => Self::Full,
            Self::Random { chance, .. } if chance.get() == 0.0 => Self::Full,
            credit if credit.is_detached() && credit != Self::Projected => {
                Self::Stored { segment: None }
            }
            credit => credit,
        }
    }

    /// Whether it differs from update to update: a backward must be given a [`Draw`](crate::Draw)
    /// first.
    pub fn is_drawn(self) -> bool {
        matches!(self, Self::Shifted { .. } | Self::Random { .. })
    }
}

/// A backward graph: which derivative edges of a rollout stay.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cut {
    /// The physical half.
    pub state: StateCredit,
    /// The memory half.
    pub memory: MemoryCredit,
    /// Edges that are treated otherwise.
    pub parts: Parts,
}

impl Cut {
    /// Full credit on both paths.
    pub const FF: Self = Self::new(StateCredit::Full, MemoryCredit::Full);
    /// Full physical credit, projected cache detached.
    pub const FD: Self = Self::new(StateCredit::Full, MemoryCredit::Projected);
    /// Full physical credit, stop-gradient at stored representations.
    pub const F_SG: Self = Self::new(StateCredit::Full, MemoryCredit::Stored { segment: None });
    /// One-step physical credit, full memory credit.
    pub const KF: Self = Self { state: StateCredit::Steps(NonZeroU32::MIN), ..Self::FF };
    /// One-step physical credit, projected cache detached.
    pub const KD: Self = Self { state: StateCredit::Steps(NonZeroU32::MIN), ..Self::FD };
    /// One-step physical credit, stop-gradient at stored representations.
    pub const K_SG: Self = Self { state: StateCredit::Steps(NonZeroU32::MIN), ..Self::F_SG };

    /// The six graphs of the paper.
    pub const SIX: [Self; 6] = [Self::FF, Self::FD, Self::F_SG, Self::KF, Self::KD, Self::K_SG];

    /// The two halves, without parts.
    pub const fn new(state: StateCredit, memory: MemoryCredit) -> Self {
        Self { state, memory, parts: Parts::NONE }
    }

    /// Neither a stored representation nor anything before it receives credit from a later step,
    /// and nothing else is cut but state edges by their number.
    pub fn is_detached(self) -> bool {
        self.memory.is_detached() && self.parts.is_empty()
    }

    /// Whether it differs from update to update.
    pub fn is_drawn(self) -> bool {
        self.memory.is_drawn() || self.parts.iter().any(|part| part.credit.is_drawn())
    }

    /// `SEG-L`: full credit inside segments of `length` steps; `None` for a length of zero.
    pub fn segments(length: u32) -> Option<Self> {
        let segment = Some(NonZeroU32::new(length)?);
        Some(Self::new(StateCredit::Full, MemoryCredit::Stored { segment }))
    }
}

#[cfg(test)]
mod tests {
    use backcut_text::Hinted;

    use super::*;

    #[test]
    fn canonical_names_round_trip() {
        for name in [
            "FF",
            "FD",
            "KF",
            "KD",
            "F_SG",
            "K_SG",
            "SEG-8",
            "SEG-1",
            "K_SEG-8",
            "K4F",
            "K4_SG",
            "K12D",
            "F_A0.5",
            "F_A0",
            "F_A1",
            "K3_A0.25",
            "RSEG-8",
            "K_RSEG-8",
            "RT-0.125",
            "URT-0.25",
            "K2_URT-0.5",
            "FF:keys=D",
            "F_SG:block1=F",
            "KF:block0.values=SEG-4:observation=A0.5",
            "FF:block0.h=SG:velocity=D",
            "FF:keys=RT-0.5",
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
        assert_eq!(parse("rt-0.50"), parse("RT-0.5"));
        // Parts sort by name; names of edges keep their case.
        assert_eq!(parse("ff:values=sg:Keys=d").to_string(), "FF:Keys=D:values=SG");
        assert_eq!(parse("FF:b=D:a=F"), parse("FF:a=F:b=D"));
    }

    #[test]
    fn what_was_asked_is_kept() {
        let parse = |s: &str| s.parse::<Cut>().unwrap();
        assert_ne!(parse("SEG-1"), Cut::F_SG);
        assert_ne!(parse("F_A0"), Cut::F_SG);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for bad in [
            "",
            "FX",
            "SEG-0",
            "SEG-",
            "K0F",
            "K",
            "F",
            "F_A1.5",
            "F_Anan",
            "F_A",
            "X_SG",
            "FFF",
            "RSEG-0",
            "RT-",
            "RT-2",
            "URT-1",
            "FF:",
            "FF:keys",
            "FF:keys=",
            "FF:=D",
            "FF:keys=X",
            "FF:keys=D:keys=F",
            "FF:a..b=D",
            "FF:a b=D",
            ":keys=D",
        ] {
            let error = bad.parse::<Cut>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{bad}`")), "{error}");
            assert!(!error.hint().is_empty());
        }
    }
}
