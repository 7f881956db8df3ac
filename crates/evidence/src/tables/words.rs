//! Words of tables that decide something: each is a type, so that nobody compares texts.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use backcut_stats::Verdict;
use backcut_stats::verdict::VerdictError;

/// The state of a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum UnitState {
    /// It has a result.
    Done,
    /// Somebody computes it.
    Running,
    /// It was begun, and nobody computes it.
    Interrupted,
    /// It failed.
    Failed,
    /// What it starts from failed.
    Blocked,
    /// Nobody has begun it.
    Pending,
}

impl UnitState {
    /// All states, in the order they are shown.
    pub const ALL: [Self; 6] =
        [Self::Done, Self::Running, Self::Interrupted, Self::Failed, Self::Blocked, Self::Pending];

    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Pending => "pending",
        }
    }
}

impl fmt::Display for UnitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for UnitState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|state| state.word() == text).ok_or(())
    }
}

/// What a unit does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Work {
    /// It trains.
    Train,
    /// It measures a state: the kind of measurement.
    Measure(String),
}

const TRAIN: &str = "train";

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Train => TRAIN,
            Self::Measure(kind) => kind,
        })
    }
}

impl FromStr for Work {
    type Err = Infallible;

    /// Tables that do not say it (an empty text) are older than measurements.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text.is_empty() || text == TRAIN { Self::Train } else { Self::Measure(text.into()) })
    }
}

/// What became of a contrast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// It was judged.
    Decided(Verdict),
    /// It is descriptive: it has an estimate and claims nothing.
    Described,
    /// It could not be computed: why.
    NotComputed(String),
}

const NOT_COMPUTED: &str = "not computed: ";
const DESCRIBED: &str = "no verdict";

impl Judgement {
    /// The verdict, if it was judged.
    pub fn verdict(&self) -> Option<Verdict> {
        if let Self::Decided(verdict) = self { Some(*verdict) } else { None }
    }

    /// Whether something that was predicted turned out otherwise.
    pub fn failed(&self) -> bool {
        self.verdict().is_some_and(Verdict::failed)
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decided(verdict) => verdict.fmt(f),
            Self::Described => f.pad(DESCRIBED),
            Self::NotComputed(why) => write!(f, "{NOT_COMPUTED}{why}"),
        }
    }
}

impl FromStr for Judgement {
    type Err = VerdictError;

    fn from_str(text: &str) -> Result<Self, VerdictError> {
        if text == DESCRIBED {
            return Ok(Self::Described);
        }
        match text.strip_prefix(NOT_COMPUTED) {
            Some(why) => Ok(Self::NotComputed(why.to_owned())),
            None => text.parse().map(Self::Decided),
        }
    }
}
