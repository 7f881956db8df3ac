//! A cut on a program: which credit each of its edges has.
//!
//! Names of edges: `CACHE.keys`, `CACHE.values`, `REGISTER`, `STATE` (or `STATE.PART`, where its
//! columns have names) and declared edges. A part of a cut that names none of them, or says what
//! such an edge cannot do, is an error.

use std::ops::Range;

use backcut_kernels::attention::Side;

use super::{BackwardError, Draw, Fate, MemoryEdges};
use crate::compile::program::Program;
use crate::cut::{self, Alpha, Cut, MemoryCredit, Part, StateCredit, stands_for};
use crate::trace::Carried;
use crate::trace::ops::Op;

/// What is left of some columns of a state from one step to the next.
#[derive(Clone, PartialEq, Debug)]
pub struct Passage {
    /// Which of the state's columns.
    pub columns: Range<usize>,
    /// Whether it counts as a state edge, of which a path may pass so many; a part of a cut can
    /// exempt it.
    pub counts: bool,
    /// What passes is multiplied by this.
    pub factor: f64,
}

impl Passage {
    /// What is left of it for a path that may pass state edges if `may_pass`.
    pub(crate) fn fate(&self, may_pass: bool) -> Fate {
        if self.factor == 0.0 || (self.counts && !may_pass) {
            Fate::Dropped
        } else if self.factor == 1.0 {
            Fate::Kept
        } else {
            Fate::Scaled(self.factor)
        }
    }
}

/// The credit of every edge of a program under a cut.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    /// Keys and values of each cache.
    pub caches: Vec<[MemoryCredit; 2]>,
    /// Each register.
    pub registers: Vec<MemoryCredit>,
    /// For each state, all its columns.
    pub states: Vec<Vec<Passage>>,
    /// What declared edges let through.
    pub points: Vec<f64>,
}

/// Words of a dotted name.
fn words(name: &str) -> usize {
    name.split('.').count()
}

/// Finds what the parts of a cut say of edges, and who was asked.
pub(super) struct Parts {
    cut: Cut,
    used: Vec<bool>,
    known: Vec<String>,
}

impl Parts {
    pub fn new(cut: Cut) -> Self {
        Self { cut, used: vec![false; cut.parts.len()], known: Vec::new() }
    }

    /// A part that named no edge is an error.
    pub fn all_used(self) -> Result<(), BackwardError> {
        let Some(unused) = self.used.iter().position(|used| !used) else { return Ok(()) };
        let part = self.cut.parts[unused].edge.clone();
        Err(BackwardError::NoSuchEdge { cut: self.cut, part, known: self.known.join(", ") })
    }

    /// What the longest part that stands for this edge says.
    pub fn of(&mut self, edge: &str) -> Result<Option<MemoryCredit>, BackwardError> {
        self.known.push(edge.to_owned());
        let mut best: Option<&Part> = None;
        for (part, used) in self.cut.parts.iter().zip(&mut self.used) {
            if !stands_for(&part.edge, edge) {
                continue;
            }
            *used = true;
            match best {
                Some(other) if words(&other.edge) == words(&part.edge) => {
                    return Err(BackwardError::AmbiguousParts {
                        cut: self.cut,
                        parts: [other.edge.clone(), part.edge.clone()],
                        edge: edge.to_owned(),
                    });
                }
                Some(other) if words(&other.edge) > words(&part.edge) => {}
                _ => best = Some(part),
            }
        }
        Ok(best.map(|part| part.credit))
    }

    /// The same for an edge that is kept, scaled or closed.
    pub fn factor(&mut self, edge: &str) -> Result<Option<f64>, BackwardError> {
        match self.of(edge)? {
            None => Ok(None),
            Some(MemoryCredit::Full) => Ok(Some(1.0)),
            Some(MemoryCredit::Projected) => Ok(Some(0.0)),
            Some(MemoryCredit::Scaled { alpha }) => Ok(Some(alpha.get())),
            Some(credit) => {
                let edge = edge.to_owned();
                Err(BackwardError::NotOfMemory { cut: self.cut, edge, credit: credit.to_string() })
            }
        }
    }

    /// Credit of one side of a cache.
    fn side(
        &mut self,
        program: &Program,
        cache: usize,
        side: Side,
    ) -> Result<MemoryCredit, BackwardError> {
        let cache = &program.caches[cache];
        let (name, word, site) = match side {
            Side::Key => ("keys", "key", cache.key),
            Side::Value => ("values", "value", cache.value),
        };
        let credit = self.of(&format!("{}.{name}", cache.name))?.unwrap_or(self.cut.memory);
        let op = &program.nodes()[site].op;
        if credit.needs_projections() && !matches!(op, Op::Linear(_)) {
            let edge = format!("memory edge `{}` ({word})", cache.name);
            return Err(BackwardError::NoProjection { cut: self.cut, edge, made_by: op.name() });
        }
        Ok(credit)
    }

    /// Columns of a state that are one edge.
    pub fn passage(&mut self, edge: &str, columns: Range<usize>) -> Result<Passage, BackwardError> {
        let found = self.factor(edge)?;
        // What a part keeps, it keeps without counting.
        let counts = !(self.cut.state != StateCredit::Full && found == Some(1.0));
        Ok(Passage { columns, counts, factor: found.unwrap_or(1.0) })
    }

    /// All columns of a state.
    fn state(&mut self, state: &Carried) -> Result<Vec<Passage>, BackwardError> {
        if state.parts.is_empty() {
            return Ok(vec![self.passage(&state.name, 0..state.width)?]);
        }
        let mut passages: Vec<Passage> = Vec::new();
        for (part, columns) in &state.parts {
            passages.push(self.passage(&format!("{}.{part}", state.name), columns.clone())?);
        }
        let alike = |p: &Passage| (p.counts, p.factor) == (passages[0].counts, passages[0].factor);
        if passages.iter().all(alike) {
            passages[0].columns = 0..state.width;
            passages.truncate(1);
        }
        Ok(passages)
    }
}

impl Resolved {
    /// A cut that the program cannot honour is an error that names the edge.
    pub fn new(program: &Program, cut: Cut) -> Result<Self, BackwardError> {
        if cut.state != StateCredit::Full && program.states().is_empty() {
            return Err(BackwardError::NoStateEdge { cut });
        }
        if cut.memory != MemoryCredit::Full && !program.has_memory() {
            return Err(BackwardError::NoMemoryEdge { cut });
        }
        let mut parts = Parts::new(cut);
        let caches = (0..program.caches.len())
            .map(|cache| {
                let mut side = |side| parts.side(program, cache, side);
                Ok([side(Side::Key)?, side(Side::Value)?])
            })
            .collect::<Result<Vec<_>, BackwardError>>()?;
        let registers = program
            .registers()
            .iter()
            .map(|register| Ok(parts.of(&register.name)?.unwrap_or(cut.memory)))
            .collect::<Result<Vec<_>, BackwardError>>()?;
        let states = program
            .states()
            .iter()
            .map(|state| parts.state(state))
            .collect::<Result<Vec<_>, BackwardError>>()?;
        let points = program
            .points
            .iter()
            .map(|point| {
                let factor = parts.factor(&point.name)?;
                if factor.is_some() && !program.step.active[point.site] {
                    return Err(BackwardError::NoAdjoint(point.name.clone()));
                }
                Ok(factor.unwrap_or(1.0))
            })
            .collect::<Result<Vec<_>, BackwardError>>()?;
        parts.all_used()?;
        Ok(Self { caches, registers, states, points })
    }

    /// The name of the cut by which the same edges always go, in a rollout of so many steps: the
    /// credit that most edges of memory have, then every edge that has another, by its whole name.
    pub(crate) fn plain(&self, program: &Program, state: StateCredit, steps: usize) -> Cut {
        let names = program.edge_names();
        let memory = self.caches.iter().flatten().chain(&self.registers);
        let memory: Vec<MemoryCredit> = memory.map(|credit| credit.plainest(steps)).collect();
        let share = |credit: &MemoryCredit| memory.iter().filter(|other| *other == credit).count();
        // Of equally many, full credit first, then by name.
        let order = |credit: &MemoryCredit| {
            let rest = (*credit != MemoryCredit::Full, credit.to_string());
            (std::cmp::Reverse(share(credit)), rest)
        };
        let base = memory.iter().copied().min_by_key(order).unwrap_or(MemoryCredit::Full);
        let mut credits: Vec<MemoryCredit> = memory;
        let factor = |factor: f64| match Alpha::new(factor) {
            Some(alpha) if factor != 0.0 && factor != 1.0 => MemoryCredit::Scaled { alpha },
            _ if factor == 0.0 => MemoryCredit::Projected,
            _ => MemoryCredit::Full,
        };
        let mut differs: Vec<bool> = credits.iter().map(|credit| *credit != base).collect();
        for (state, passages) in program.states.iter().zip(&self.states) {
            let parts = state.parts.len().max(1);
            for part in 0..parts {
                let passage = passages.get(part).unwrap_or(&passages[0]);
                credits.push(factor(passage.factor));
                differs.push(!passage.counts || passage.factor != 1.0);
            }
        }
        for &point in &self.points {
            credits.push(factor(point));
            differs.push(point != 1.0);
        }
        let parts = names.into_iter().zip(credits).zip(differs).filter(|(_, differs)| *differs);
        let parts = parts.map(|((edge, credit), _)| Part { edge, credit }).collect();
        let parts = cut::Parts::new(parts).expect("every edge has a name of its own");
        Cut { state: state.plainest(steps), memory: base, parts }
    }

    fn memory(&mut self) -> impl Iterator<Item = &mut MemoryCredit> {
        self.caches.iter_mut().flatten().chain(&mut self.registers)
    }

    /// The one with which it shares lanes: the same adjoints everywhere, differing at most in what
    /// the projections' weights collect.
    pub(crate) fn lane_mate(&self) -> Self {
        let mut mate = self.clone();
        mate.memory().for_each(|credit| *credit = credit.lane_mate());
        mate
    }

    /// Of two that share lanes, edge by edge the one whose weights collect more.
    pub(crate) fn collecting_most(&self, other: &Self) -> Self {
        let (mut most, mut other) = (self.clone(), other.clone());
        for (credit, other) in most.memory().zip(other.memory()) {
            if *credit == MemoryCredit::Projected {
                *credit = *other;
            }
        }
        most
    }

    pub(crate) fn is_drawn(&self) -> bool {
        let memory = self.caches.iter().flatten().chain(&self.registers);
        memory.copied().any(MemoryCredit::is_drawn)
    }
}

impl Program {
    /// A cut by its plainest name in rollouts of so many steps: two cuts that keep the same edges
    /// have one. The halves of a cut without parts stay as they were asked for.
    pub fn plain_cut(&self, cut: Cut, steps: usize) -> Result<Cut, BackwardError> {
        let resolved = Resolved::new(self, cut)?;
        Ok(if cut.parts.is_empty() { cut } else { resolved.plain(self, cut.state, steps) })
    }
}

/// Every edge of a rollout under one cut.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Credits {
    /// Keys and values of each cache.
    caches: Vec<[MemoryEdges; 2]>,
    pub registers: Vec<MemoryEdges>,
}

impl Credits {
    /// For the steps that learn.
    pub fn new(resolved: &Resolved, draw: Draw, learning: &Range<usize>) -> Self {
        let table = |&credit: &MemoryCredit| MemoryEdges::new(credit, draw, learning.clone());
        let sides = |[key, value]: &[MemoryCredit; 2]| [table(key), table(value)];
        Self {
            caches: resolved.caches.iter().map(sides).collect(),
            registers: resolved.registers.iter().map(table).collect(),
        }
    }

    /// The edges of one side of a cache.
    pub fn cache(&self, (cache, side): (usize, Side)) -> &MemoryEdges {
        &self.caches[cache][side as usize]
    }

    /// Whether a position of the cache receives something from a later query.
    pub fn looks_back(&self, cache: usize) -> bool {
        self.caches[cache].iter().any(MemoryEdges::looks_back)
    }
}
