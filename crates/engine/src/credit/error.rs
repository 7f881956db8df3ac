//! Why a backward cannot run.

use std::borrow::Cow;

use backcut_text::Hinted;

use crate::cut::Cut;
use crate::fault::Fault;

/// Why a backward cannot run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum BackwardError {
    /// Nothing physical to cut.
    #[error("cut {cut} limits physical credit, but the program has no state edge")]
    NoStateEdge {
        /// The cut.
        cut: Cut,
    },
    /// Nothing stored to cut.
    #[error("cut {cut} cuts memory, but the program has no memory edge (no cache, no register)")]
    NoMemoryEdge {
        /// The cut.
        cut: Cut,
    },
    /// No weights between the stored representation and the attention.
    #[error(
        "cut {cut} cannot be honoured at {edge}: it is made by `{made_by}`, not by a linear \
         projection that could keep the credit"
    )]
    NoProjection {
        /// The cut.
        cut: Cut,
        /// The edge.
        edge: String,
        /// The instruction that makes the key or value.
        made_by: &'static str,
    },
    /// A part of a cut stands for no edge.
    #[error(
        "cut {cut} names the edge `{part}`, but the program has none of that name; it has {known}"
    )]
    NoSuchEdge {
        /// The cut.
        cut: Cut,
        /// The part.
        part: String,
        /// All edges.
        known: String,
    },
    /// Two parts of a cut stand for one edge.
    #[error("cut {cut}: both `{}` and `{}` stand for the edge `{edge}`", parts[0], parts[1])]
    AmbiguousParts {
        /// The cut.
        cut: Cut,
        /// Both.
        parts: [String; 2],
        /// The edge.
        edge: String,
    },
    /// A state or a declared edge has no weights and no segments.
    #[error("cut {cut}: `{edge}` is no edge of memory and cannot have credit {credit}")]
    NotOfMemory {
        /// The cut.
        cut: Cut,
        /// The edge.
        edge: String,
        /// What was asked.
        credit: String,
    },
    /// Nobody drew what the cut leaves to chance.
    #[error("cut {cut} draws its boundaries for every update, and none was drawn")]
    NotDrawn {
        /// The cut.
        cut: Cut,
    },
    /// The forward read another rollout's memory.
    #[error("the rollout reads a donor's memory: its derivative belongs to no policy's loss")]
    Donor,
    /// Rolled by nobody, or inputs changed since.
    #[error("the rollout was not rolled since its inputs were written")]
    NotRolled,
    /// The parameters changed after the rollout.
    #[error("the model's parameters changed since it rolled this rollout")]
    OtherParameters,
    /// Another program, row count, number of steps or prefix.
    #[error("the workspace was made for another program or shape")]
    WrongShape,
    /// Unknown name.
    #[error("`{name}` is no tap, state, register or input; known: {known}")]
    UnknownTap {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Nothing that learns reaches the site, so no adjoint is computed there.
    #[error("`{0}` depends on nothing that learns: no adjoint is computed there")]
    NoAdjoint(String),
    /// Wrong number of seeds, or of values in one.
    #[error("{0}")]
    Seeds(String),
    /// A decomposition that is not defined.
    #[error(
        "age bins are not defined under {cut}: it lets credit pass through memory, where the age \
         of a path and its number of state edges differ"
    )]
    AgesNeedDetachedMemory {
        /// The cut.
        cut: Cut,
    },
    /// A NaN or infinity, traced to where it first appeared.
    #[error("{0}")]
    NonFinite(Fault),
}

impl Hinted for BackwardError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NoStateEdge { .. } => {
                "use F for the physical half, or carry a state in the trace"
            }
            Self::NoMemoryEdge { .. } => "use F for the memory half (FF, KF), or store something",
            Self::NoProjection { .. } => {
                "make keys and values with trace.linear, or use a cut that detaches them whole (FD)"
            }
            Self::NoSuchEdge { .. } => {
                "a part stands for all edges whose dotted names begin or end with it: keys, \
                 block0, block0.values"
            }
            Self::AmbiguousParts { edge, .. } => {
                return format!("say what `{edge}` has, by its whole name").into();
            }
            Self::NotOfMemory { .. } => "F keeps it, A0.5 scales it, D closes it",
            Self::NotDrawn { .. } => {
                "such a cut is defined for an update of a source: train with it, or measure at an \
                 update's batch"
            }
            Self::Donor => "roll without a donor to differentiate",
            Self::NotRolled => "roll it first",
            Self::OtherParameters => "roll again with these parameters, then differentiate",
            Self::WrongShape => "make a workspace from a rollout of this shape",
            Self::UnknownTap { .. } => "name a tap in the trace with trace.tap(name, value)",
            Self::NoAdjoint(_) => {
                "keep the adjoints of a state, a register or a tap that a parameter reaches"
            }
            Self::Seeds(_) => {
                "give one set of seeds per cut, [step][row][column] values per tap; tap a state's \
                 value to seed it"
            }
            Self::AgesNeedDetachedMemory { .. } => "use FD, F_SG, KD or K_SG",
            Self::NonFinite(_) => "export the inputs to look at the step that is named",
        }
        .into()
    }

    /// Calls in the wrong order.
    fn is_bug(&self) -> bool {
        matches!(self, Self::NotRolled | Self::OtherParameters | Self::WrongShape)
    }
}
