//! The credit rule: what a cut leaves of an edge between two steps. Nothing else decides that.
//!
//! [`memory_credit`] says what the memory half of a cut means, edge by edge; [`MemoryEdges`]
//! tabulates it once for a rollout, as spans of later queries that are treated alike. All else is
//! derived from the table: which queries a position sums, what its projections' weights collect,
//! what a register hands back, whether anything is kept of a query at all, and the list of edges
//! that `explain` prints. [`StateEdges`] is the same for the physical half.
//!
//! Which credit an edge has under a cut with parts is for `resolved` to say, and what an update
//! draws for `draw`; a new kind of cut is one arm of [`memory_credit`], and may be any function of
//! the two steps and the draw.

mod declared;
mod draw;
mod error;
mod resolved;

use std::ops::Range;

use serde::Serialize;

pub use declared::{Declared, DeclaredCredit};
pub use draw::Draw;
pub use error::BackwardError;
pub(crate) use resolved::Credits;
pub use resolved::{Passage, Resolved};

use crate::cut::{MemoryCredit, StateCredit};

/// What a cut leaves of an edge.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// All credit passes.
    Kept,
    /// The projections' weights receive credit, what was stored does not.
    WeightsOnly,
    /// The projections' weights receive all credit, what was stored this factor of it.
    Scaled(f64),
    /// No credit passes.
    Dropped,
}

impl Fate {
    /// Whether some credit passes to the earlier step's values.
    pub fn is_live(self) -> bool {
        self.factor() > 0.0
    }

    /// The share of the credit that the earlier step's values receive.
    pub fn factor(self) -> f64 {
        match self {
            Self::Kept => 1.0,
            Self::Scaled(factor) => factor,
            Self::WeightsOnly | Self::Dropped => 0.0,
        }
    }

    /// The share that the weights which project what was stored receive.
    pub fn of_weights(self) -> f64 {
        match self {
            Self::Kept | Self::WeightsOnly | Self::Scaled(_) => 1.0,
            Self::Dropped => 0.0,
        }
    }

    /// Whether the weights that project what was stored receive credit that the stored values do
    /// not.
    fn is_far(self) -> bool {
        match self {
            Self::WeightsOnly | Self::Scaled(_) => true,
            Self::Kept | Self::Dropped => false,
        }
    }
}

/// What the memory half leaves of an edge from step `from` to step `to > from`, both counted from
/// the first step that learns.
fn memory_credit(memory: MemoryCredit, draw: Draw, from: usize, to: usize) -> Fate {
    match memory {
        MemoryCredit::Full => Fate::Kept,
        MemoryCredit::Projected => Fate::Dropped,
        MemoryCredit::Stored { segment } => {
            let length = segment.map_or(1, |length| length.get() as usize);
            if from / length == to / length { Fate::Kept } else { Fate::WeightsOnly }
        }
        MemoryCredit::Scaled { alpha } if alpha.get() == 0.0 => Fate::WeightsOnly,
        MemoryCredit::Scaled { alpha } => Fate::Scaled(alpha.get()),
        MemoryCredit::Shifted { length } => {
            let (length, offset) = (length.get() as usize, draw.offset(length));
            if (from + offset) / length == (to + offset) / length {
                Fate::Kept
            } else {
                Fate::WeightsOnly
            }
        }
        MemoryCredit::Random { chance, unbiased } => {
            let mut boundaries = from + 1..=to;
            if boundaries.any(|boundary| draw.is_cut(boundary, chance)) {
                Fate::WeightsOnly
            } else if unbiased {
                let survives = 1.0 - chance.get();
                Fate::Scaled((from..to).fold(1.0, |factor, _| factor / survives))
            } else {
                Fate::Kept
            }
        }
    }
}

impl MemoryCredit {
    /// Whether weights may receive credit that stored values do not: then these must be made by
    /// weights.
    pub(crate) fn needs_projections(self) -> bool {
        match self {
            Self::Full | Self::Projected => false,
            Self::Stored { .. }
            | Self::Scaled { .. }
            | Self::Shifted { .. }
            | Self::Random { .. } => true,
        }
    }

    /// The cut with which it shares lanes: one that sends the same adjoints everywhere, and differs
    /// at most in what the projections' weights collect.
    pub(crate) fn lane_mate(self) -> Self {
        match self {
            Self::Projected => Self::Stored { segment: None },
            _ => self,
        }
    }
}

/// Later queries in a row to which one position's edges have the same fate.
#[derive(Clone, PartialEq, Debug)]
struct Span {
    fate: Fate,
    queries: Range<usize>,
}

/// Every memory edge of a rollout under one cut.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MemoryEdges {
    /// The first step that learns.
    first: usize,
    /// For each position from there on, all later queries, the last first: the order in which they
    /// are summed.
    spans: Vec<Vec<Span>>,
    /// Another draw may give other spans.
    is_drawn: bool,
}

impl MemoryEdges {
    /// For the steps that learn.
    pub fn new(memory: MemoryCredit, draw: Draw, learning: Range<usize>) -> Self {
        let table = Self::tabulate(learning, |from, to| memory_credit(memory, draw, from, to));
        Self { is_drawn: memory.is_drawn(), ..table }
    }

    fn tabulate(learning: Range<usize>, credit: impl Fn(usize, usize) -> Fate) -> Self {
        let (first, steps) = (learning.start, learning.len());
        let of_position = |from: usize| {
            let mut spans: Vec<Span> = Vec::new();
            for to in (from + 1..steps).rev() {
                let (fate, query) = (credit(from, to), first + to);
                match spans.last_mut().filter(|span| span.fate == fate) {
                    Some(span) => span.queries.start = query,
                    None => spans.push(Span { fate, queries: query..query + 1 }),
                }
            }
            spans
        };
        Self { first, spans: (0..steps).map(of_position).collect(), is_drawn: false }
    }

    fn spans(&self, position: usize) -> impl Iterator<Item = &Span> + Clone {
        self.spans[position - self.first].iter()
    }

    fn any(&self, is_such: impl Fn(Fate) -> bool) -> bool {
        self.spans.iter().flatten().any(|span| is_such(span.fate))
    }

    /// What is left of the edge from step `from` to step `to`.
    pub fn fate(&self, from: usize, to: usize) -> Fate {
        let span = self.spans(from).find(|span| span.queries.contains(&to));
        span.map_or(Fate::Dropped, |span| span.fate)
    }

    /// Queries that give a position everything, the last first.
    pub fn near(&self, position: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        self.spans(position).filter(|span| span.fate == Fate::Kept).map(|s| s.queries.clone())
    }

    /// Queries that give everything to a position's projections alone, the last first.
    pub fn far(&self, position: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        self.spans(position).filter(|span| span.fate.is_far()).map(|s| s.queries.clone())
    }

    /// Those of the far ones that give a position a share, with that share.
    pub fn scaled(&self, position: usize) -> impl Iterator<Item = (f64, Range<usize>)> {
        let far = self.spans(position).filter(|span| span.fate.is_far() && span.fate.is_live());
        far.map(|span| (span.fate.factor(), span.queries.clone()))
    }

    /// Whether some position receives something from a later query; otherwise nothing is kept of
    /// queries.
    pub fn looks_back(&self) -> bool {
        self.is_drawn || self.any(|fate| fate != Fate::Dropped)
    }

    /// Whether some weights collect more than the adjoint of what they make, in this draw or
    /// another.
    pub fn has_far(&self) -> bool {
        self.is_drawn || self.any(Fate::is_far)
    }

    /// Whether some weights collect less.
    pub fn has_dropped(&self) -> bool {
        self.any(|fate| fate == Fate::Dropped)
    }
}

/// The state edges of a rollout under one cut.
///
/// A lane holds the paths that passed the same number of them; where any number may be passed, all
/// paths share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StateEdges {
    /// How many a path may pass; `None` for any number.
    pub most: Option<usize>,
}

impl StateEdges {
    /// For a rollout of which `steps` steps learn: no path passes more than `steps - 1` state
    /// edges.
    pub fn new(state: StateCredit, steps: usize) -> Self {
        let most = match state {
            StateCredit::Full => None,
            StateCredit::Steps(k) => Some((k.get() as usize).min(steps) - 1),
        };
        Self { most }
    }

    pub fn lanes(self) -> usize {
        self.most.map_or(1, |most| most + 1)
    }

    /// The lane in which paths of a lane go on beyond a state edge; `None` if it is dropped.
    pub fn beyond(self, lane: usize) -> Option<usize> {
        match self.most {
            None => Some(lane),
            Some(most) => (lane < most).then_some(lane + 1),
        }
    }

    /// Whether a path that passed none may pass one.
    pub fn may_pass(self) -> bool {
        self.beyond(0).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::Alpha;

    #[test]
    fn spans_of_any_rule_are_that_rule() {
        // Even distances pass, odd ones by weights, those of a multiple of five by a share: no
        // segments.
        let rule = |from: usize, to: usize| match to - from {
            distance if distance % 5 == 0 => Fate::Scaled(0.5),
            distance if distance % 2 == 0 => Fate::Kept,
            _ => Fate::WeightsOnly,
        };
        let (first, last) = (3, 17);
        let table = MemoryEdges::tabulate(first..last, rule);
        for from in first..last {
            for to in from + 1..last {
                assert_eq!(table.fate(from, to), rule(from, to), "{from} to {to}");
            }
            let near: Vec<usize> = table.near(from).flat_map(Iterator::rev).collect();
            let far: Vec<usize> = table.far(from).flat_map(Iterator::rev).collect();
            let scaled: Vec<usize> = table.scaled(from).flat_map(|(_, q)| q.rev()).collect();
            let such = |is: &dyn Fn(Fate) -> bool| -> Vec<usize> {
                (from + 1..last).rev().filter(|&to| is(rule(from, to))).collect()
            };
            assert_eq!(near, such(&|fate| fate == Fate::Kept));
            assert_eq!(far, such(&|fate| fate != Fate::Kept));
            assert_eq!(scaled, such(&|fate| fate == Fate::Scaled(0.5)));
        }
    }

    #[test]
    fn segments_count_from_the_first_step_that_learns() {
        let two = MemoryCredit::Stored { segment: std::num::NonZeroU32::new(2) };
        let table = MemoryEdges::new(two, Draw::default(), 3..8);
        assert!(table.near(3).eq(std::iter::once(4..5)));
        assert!(table.far(3).eq(std::iter::once(5..8)));
        assert_eq!(table.near(4).count(), 0);
        assert!(table.near(7).chain(table.far(7)).next().is_none());
    }

    /// Segments of every offset are drawn, and boundaries as often as they should be.
    #[test]
    fn draws_are_what_they_say() {
        let length = std::num::NonZeroU32::new(4).unwrap();
        let chance = Alpha::new(0.25).unwrap();
        let (mut offsets, mut cut) = ([0; 4], 0);
        for update in 0..4000 {
            let draw = Draw::new(7, update);
            let shifted = MemoryEdges::new(MemoryCredit::Shifted { length }, draw, 0..8);
            let ends: Vec<usize> =
                (1..8).filter(|&t| shifted.fate(t - 1, t) == Fate::WeightsOnly).collect();
            assert!(ends.len() == 2 || (ends == [4]), "{ends:?}");
            offsets[ends[0] % 4] += 1;
            let random = MemoryCredit::Random { chance, unbiased: false };
            let random = MemoryEdges::new(random, draw, 0..8);
            let is_cut = |t: usize| random.fate(t - 1, t) == Fate::WeightsOnly;
            cut += (1..8).filter(|&t| is_cut(t)).count();
            assert_eq!(random.fate(0, 7) == Fate::WeightsOnly, (1..8).any(is_cut));
        }
        assert!(offsets.iter().all(|n| (900..1100).contains(n)), "{offsets:?}");
        assert!((6700..7300).contains(&cut), "{cut} of 28000");
    }

    #[test]
    fn what_survives_random_truncation_is_unbiased_in_the_mean() {
        let chance = Alpha::new(0.25).unwrap();
        let mut sums = [0.0; 4];
        let draws = 20_000;
        for update in 0..draws {
            let memory = MemoryCredit::Random { chance, unbiased: true };
            let table = MemoryEdges::new(memory, Draw::new(3, update), 0..4);
            for (to, sum) in sums.iter_mut().enumerate().skip(1) {
                *sum += table.fate(0, to).factor() / draws as f64;
            }
        }
        assert!(sums[1..].iter().all(|mean| (mean - 1.0).abs() < 0.03), "{sums:?}");
    }
}
