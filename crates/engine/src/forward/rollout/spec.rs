//! What changes the forward: a different type from a cut, recorded in the rollout.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use backcut_kernels::Real;
use backcut_text::Hinted;

use super::Rollout;
use crate::compile::program::Program;
use crate::cut::stands_for;
use crate::trace::Site;

/// Which positions of the caches a query reads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum MemoryReads {
    /// Every position up to its own.
    #[default]
    All,
    /// The last `w` positions, its own included; `w = 1` is a policy without memory.
    Window(NonZeroUsize),
    /// Those that a mask shows.
    Mask(Mask),
}

/// A lower-triangular table of visible positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mask {
    steps: usize,
    hidden: Vec<bool>,
}

impl Mask {
    /// `visible(t, j)` says whether the query at step `t` reads position `j < t`; its own position
    /// is always read.
    pub fn new(steps: usize, visible: impl Fn(usize, usize) -> bool) -> Self {
        let hidden = (0..steps * steps)
            .map(|i| (i / steps, i % steps))
            .map(|(t, j)| j < t && !visible(t, j));
        Self { steps, hidden: hidden.collect() }
    }

    pub(crate) fn hidden(&self, t: usize) -> &[bool] {
        &self.hidden[t * self.steps..][..self.steps]
    }
}

impl MemoryReads {
    /// The first position that the query at step `t` may read, and the mask's row for it.
    pub(crate) fn at(&self, t: usize) -> (usize, Option<&[bool]>) {
        match self {
            Self::All => (0, None),
            Self::Window(w) => ((t + 1).saturating_sub(w.get()), None),
            Self::Mask(mask) => (0, Some(mask.hidden(t))),
        }
    }

    /// Whether the query at step `t` reads position `j`.
    pub fn shows(&self, t: usize, j: usize) -> bool {
        let (lo, hidden) = self.at(t);
        j >= lo && j <= t && hidden.is_none_or(|hidden| !hidden[j])
    }
}

/// A site whose values come from outside at some steps: teacher forcing, probes on common inputs.
///
/// This only says where. The values are written into a rollout for every batch, beside its inputs
/// ([`Rollout::fed_mut`]). A fed value is a constant: no cut sends credit through it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fed {
    /// A tap, state, register or input.
    pub site: String,
    /// The steps at which it is fed.
    pub steps: Range<usize>,
}

/// The memory of another rollout in place of one's own: positions before the query's come from it.
#[derive(Clone, Debug)]
pub struct Donor<R> {
    /// A finished rollout of the same program, rows and steps.
    pub rollout: Arc<Rollout<R>>,
    /// Row `r` reads the memory of the donor's row `rows[r]`.
    pub rows: Vec<usize>,
    /// Caches and registers that are the donor's, by the beginnings or ends of their dotted names;
    /// all if empty.
    pub memories: Vec<String>,
}

impl<R> Donor<R> {
    /// Whether the memory of this name is the donor's.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.memories.is_empty() || self.memories.iter().any(|part| stands_for(part, name))
    }
}

/// Everything that changes the forward. The default changes nothing.
#[derive(Clone, Debug)]
pub struct ForwardSpec<R> {
    /// Steps at the start that run without gradients and whose cache later steps read.
    pub prefix: usize,
    /// What queries read.
    pub reads: MemoryReads,
    /// Sites that are fed from outside.
    pub fed: Vec<Fed>,
    /// Another rollout's memory.
    pub donor: Option<Donor<R>>,
}

impl<R> Default for ForwardSpec<R> {
    fn default() -> Self {
        Self { prefix: 0, reads: MemoryReads::All, fed: Vec::new(), donor: None }
    }
}

impl<R> ForwardSpec<R> {
    /// A forward window of `w` positions.
    pub fn window(w: usize) -> Result<Self, ForwardError> {
        let w = NonZeroUsize::new(w).ok_or(ForwardError::EmptyWindow)?;
        Ok(Self { reads: MemoryReads::Window(w), ..Self::default() })
    }
}

/// A forward that the program cannot run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ForwardError {
    /// A window of 0.
    #[error("a window of 0 positions reads nothing, not even the current token")]
    EmptyWindow,
    /// Nothing to roll.
    #[error("a rollout of {rows} rows and {steps} steps is empty")]
    Empty {
        /// Rows asked for.
        rows: usize,
        /// Steps asked for.
        steps: usize,
    },
    /// Longer than a learned table.
    #[error("{steps} steps, but the program's learned table has {rows} rows")]
    TooLong {
        /// Steps asked for.
        steps: usize,
        /// Rows of the table.
        rows: usize,
    },
    /// The prefix leaves no step to predict.
    #[error("a prefix of {prefix} steps leaves nothing of {steps} to predict")]
    Prefix {
        /// Prefix asked for.
        prefix: usize,
        /// All steps.
        steps: usize,
    },
    /// Windows and masks act on caches.
    #[error("register `{0}` has no positions: a window or mask cannot apply to it")]
    WindowOnRegister(String),
    /// A window on a program without a cache.
    #[error("the program has no cache: a window or mask would change nothing")]
    WindowWithoutCache,
    /// Wrong mask.
    #[error("the mask is for {mask} steps, the rollout has {steps}")]
    MaskSize {
        /// Steps of the mask.
        mask: usize,
        /// Steps of the rollout.
        steps: usize,
    },
    /// Unknown name.
    #[error("`{name}` is no tap, state, register or input; known: {known}")]
    UnknownSite {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Fed at no step, or beyond the last.
    #[error("`{name}` is fed at steps {fed:?} of a rollout of {steps}")]
    FedSteps {
        /// The site.
        name: String,
        /// The steps asked for.
        fed: Range<usize>,
        /// Steps of the rollout.
        steps: usize,
    },
    /// Two declarations for one site.
    #[error("`{0}` is fed twice")]
    FedTwice(String),
    /// Wrong donor.
    #[error("the donor does not fit: {0}")]
    Donor(&'static str),
    /// A memory of the donor's that the program has not.
    #[error("the donor is to give `{name}`, and the program stores {}", known.join(", "))]
    DonorMemory {
        /// The name asked for.
        name: String,
        /// Caches and registers of the program.
        known: Vec<String>,
    },
}

impl Hinted for ForwardError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::EmptyWindow => {
                "w = 1 reads only the current token; leave the window out to read all"
            }
            Self::Empty { .. } => "use at least one row and one step",
            Self::TooLong { .. } => "roll fewer steps, or trace the table with more rows",
            Self::Prefix { .. } => "the prefix must be shorter than the rollout",
            Self::WindowOnRegister(_) | Self::WindowWithoutCache => {
                "windows and masks are for programs whose memory is a cache"
            }
            Self::MaskSize { .. } => "make the mask with the rollout's number of steps",
            Self::UnknownSite { .. } => "name a tap in the trace with trace.tap(name, value)",
            Self::FedSteps { .. } => "name at least one step, and none after the last",
            Self::FedTwice(_) => "feed a site over one range of steps",
            Self::DonorMemory { .. } => {
                "name a cache or a register, or the beginning or end of its dotted name"
            }
            Self::Donor(_) => "use a finished rollout of the same program, rows and steps",
        }
        .into()
    }
}

/// A fed site, resolved, with its values.
#[derive(Clone, Debug)]
pub(crate) struct Fixed<R> {
    pub site: Site,
    pub steps: Range<usize>,
    /// `[step][row][column]`
    pub values: Vec<R>,
}

impl<R: Real> ForwardSpec<R> {
    pub(crate) fn check(
        &self,
        program: &Program,
        rows: usize,
        steps: usize,
    ) -> Result<Vec<Fixed<R>>, ForwardError> {
        if rows == 0 || steps == 0 {
            return Err(ForwardError::Empty { rows, steps });
        }
        if let Some(table) = program.max_steps().filter(|&table| table < steps) {
            return Err(ForwardError::TooLong { steps, rows: table });
        }
        if self.prefix >= steps {
            return Err(ForwardError::Prefix { prefix: self.prefix, steps });
        }
        if self.reads != MemoryReads::All {
            if let Some(register) = program.registers().first() {
                return Err(ForwardError::WindowOnRegister(register.name.clone()));
            }
            if program.caches.is_empty() {
                return Err(ForwardError::WindowWithoutCache);
            }
        }
        if let MemoryReads::Mask(mask) = &self.reads
            && mask.steps != steps
        {
            return Err(ForwardError::MaskSize { mask: mask.steps, steps });
        }
        if let Some(donor) = &self.donor {
            donor.check(program, rows, steps)?;
        }
        let mut fixed: Vec<Fixed<R>> = Vec::with_capacity(self.fed.len());
        for fed in &self.fed {
            let site = fed.resolve(program, steps)?;
            if fixed.iter().any(|f| f.site == site) {
                return Err(ForwardError::FedTwice(fed.site.clone()));
            }
            let len = fed.steps.len() * rows * program.width(site);
            fixed.push(Fixed { site, steps: fed.steps.clone(), values: vec![R::ZERO; len] });
        }
        Ok(fixed)
    }

    /// Positions `lo..=t` and the mask's row for the query at step `t`.
    pub(crate) fn reads_at(&self, t: usize) -> backcut_kernels::attention::Reads<'_> {
        let (lo, hidden) = self.reads.at(t);
        backcut_kernels::attention::Reads { lo, hi: t + 1, hidden }
    }

    /// Whether the query at step `t` reads position `j`.
    pub(crate) fn is_read(&self, t: usize, j: usize) -> bool {
        self.reads.shows(t, j)
    }
}

impl<R: Real> Donor<R> {
    fn check(&self, program: &Program, rows: usize, steps: usize) -> Result<(), ForwardError> {
        let rollout = &self.rollout;
        if !std::ptr::eq(Arc::as_ptr(rollout.program()), program) {
            return Err(ForwardError::Donor("it is a rollout of another program"));
        }
        if rollout.steps() != steps {
            return Err(ForwardError::Donor("it has another number of steps"));
        }
        if self.rows.len() != rows || self.rows.iter().any(|&r| r >= rollout.rows()) {
            return Err(ForwardError::Donor("its row map does not fit"));
        }
        if rollout.spec().donor.is_some() {
            return Err(ForwardError::Donor("it reads a donor's memory itself"));
        }
        if rollout.row_loss().is_none() {
            return Err(ForwardError::Donor("it was not rolled yet"));
        }
        let known: Vec<String> = program.memory_names().map(str::to_owned).collect();
        let is_unknown = |part: &&String| !known.iter().any(|name| stands_for(part, name));
        if let Some(name) = self.memories.iter().find(is_unknown).cloned() {
            return Err(ForwardError::DonorMemory { name, known });
        }
        Ok(())
    }
}

impl Fed {
    fn resolve(&self, program: &Program, steps: usize) -> Result<Site, ForwardError> {
        let name = self.site.clone();
        if self.steps.is_empty() || self.steps.end > steps {
            return Err(ForwardError::FedSteps { name, fed: self.steps.clone(), steps });
        }
        let known = || program.tap_names().join(", ");
        program.tap(&name).ok_or_else(|| ForwardError::UnknownSite { name, known: known() })
    }
}
