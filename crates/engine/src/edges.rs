//! The edges between steps of a compiled program, and what a cut leaves of each.
//!
//! **Does**: lists every state, register and cache edge of a rollout with its fate under a cut,
//! counts them, and walks the live ones back from a loss. `backcut explain` prints nothing else.
//!
//! **One design decision.** The fates are read off the same tables that a backward would run with
//! (`credit`), not off the cut's name. So the list shows what the engine does; that this is what
//! the cut means is for the oracle to say, which counts its own edges while it places
//! stop-gradients.
//!
//! ```
//! use backcut_engine::edges::{EdgeList, Through};
//! use backcut_engine::{Cut, MemoryReads};
//! use backcut_oracle::{PolicySizes, trace_policy};
//!
//! let program = trace_policy(PolicySizes::default())?;
//! let cut: Cut = "SEG-2".parse()?;
//! let edges = EdgeList::new(&program, 4, 0, &MemoryReads::All, cut)?;
//! let first_layer = edges.tally(|e| e.through == Through::Cache && e.index == 0);
//! // 0-1 and 2-3 share a segment; 0-2, 0-3, 1-2 and 1-3 do not.
//! assert_eq!((first_layer.kept, first_layer.weights_only), (2, 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use backcut_kernels::attention::Side;
use serde::Serialize;

use crate::backward::lanes::{Plan, Variant};
use crate::compile::program::Program;
use crate::credit::BackwardError;
pub use crate::credit::Fate;
use crate::credit::{Draw, Resolved};
use crate::cut::Cut;
use crate::forward::rollout::spec::MemoryReads;
use crate::trace::Site;

/// What an edge between two steps runs through.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Through {
    /// A physical state, handed to the next step.
    State,
    /// A memory register, handed to the next step.
    Register,
    /// A cache: stored by one step, read by the queries of later ones.
    Cache,
    /// The keys of a cache alone, where a cut treats the two sides apart.
    Keys,
    /// Its values alone.
    Values,
}

impl Through {
    /// Keys, values or both.
    pub fn is_cache(self) -> bool {
        matches!(self, Self::Cache | Self::Keys | Self::Values)
    }
}

/// One edge from an earlier step to a later one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Edge {
    /// What it runs through.
    pub through: Through,
    /// Which state, register or cache, in the program's order; a cache's is its layer.
    pub index: usize,
    /// Which part of a state, where a cut treats them apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// The earlier step.
    pub from: usize,
    /// The later step.
    pub to: usize,
    /// What the cut leaves.
    pub fate: Fate,
}

impl Edge {
    /// Steps between its ends, at least 1.
    pub fn distance(&self) -> usize {
        self.to - self.from
    }
}

/// Edges counted by fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Tally {
    /// All credit passes.
    pub kept: usize,
    /// Credit for the projections' weights only.
    pub weights_only: usize,
    /// A factor of the credit passes.
    pub scaled: usize,
    /// No credit passes.
    pub dropped: usize,
}

impl Tally {
    /// Counts one edge.
    pub fn add(&mut self, fate: Fate) {
        *match fate {
            Fate::Kept => &mut self.kept,
            Fate::WeightsOnly => &mut self.weights_only,
            Fate::Scaled(_) => &mut self.scaled,
            Fate::Dropped => &mut self.dropped,
        } += 1;
    }

    /// Edges of any fate.
    pub fn total(&self) -> usize {
        self.kept + self.weights_only + self.scaled + self.dropped
    }
}

/// Every edge of one row of a rollout, under one cut.
///
/// Values fed from outside are constants at their steps and no edges of the program; they
/// are not considered here.
#[derive(Clone, Debug)]
pub struct EdgeList<'p> {
    program: &'p Program,
    cut: Cut,
    steps: usize,
    prefix: usize,
    budget: Option<usize>,
    resolved: Resolved,
    edges: Vec<Edge>,
}

impl<'p> EdgeList<'p> {
    /// The edges of a rollout of `steps` steps, of which the first `prefix` learn nothing. A cut
    /// that the program cannot honour is the error that a backward would give.
    pub fn new(
        program: &'p Program,
        steps: usize,
        prefix: usize,
        reads: &MemoryReads,
        cut: Cut,
    ) -> Result<Self, BackwardError> {
        Self::drawn(program, steps, prefix, reads, cut, Draw::default())
    }

    /// The same for one of the draws of a cut that leaves something to chance.
    pub fn drawn(
        program: &'p Program,
        steps: usize,
        prefix: usize,
        reads: &MemoryReads,
        cut: Cut,
        draw: Draw,
    ) -> Result<Self, BackwardError> {
        let predicted = steps.saturating_sub(prefix).max(1);
        let mut plan = Plan::new(program, prefix..prefix + predicted, &[cut], true)?;
        plan.draw(draw);
        let Variant { group, credits, resolved, .. } = &plan.variants[plan.of_cut[0]];
        let state = plan.groups[*group].state;
        let mut edges = Vec::new();
        for to in prefix + 1..steps {
            let from = to - 1;
            for (index, passages) in resolved.states.iter().enumerate() {
                for (part, passage) in passages.iter().enumerate() {
                    let part = (passages.len() > 1).then_some(part);
                    let fate = passage.fate(state.may_pass());
                    edges.push(Edge { through: Through::State, index, part, from, to, fate });
                }
            }
            for (index, table) in credits.registers.iter().enumerate() {
                let (through, fate) = (Through::Register, table.fate(from, to));
                edges.push(Edge { through, index, part: None, from, to, fate });
            }
            for index in 0..program.caches.len() {
                for from in (prefix..to).filter(|&from| reads.shows(to, from)) {
                    let fate = |side| credits.cache((index, side)).fate(from, to);
                    let (key, value) = (fate(Side::Key), fate(Side::Value));
                    let mut edge = |through, fate| {
                        edges.push(Edge { through, index, part: None, from, to, fate });
                    };
                    if key == value {
                        edge(Through::Cache, key);
                    } else {
                        edge(Through::Keys, key);
                        edge(Through::Values, value);
                    }
                }
            }
        }
        let resolved = resolved.clone();
        Ok(Self { program, cut, steps, prefix, budget: state.most, resolved, edges })
    }

    /// The cut.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// Steps, the prefix included.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// State edges that one path may pass at most; `None` for any number.
    pub fn state_edges_per_path(&self) -> Option<usize> {
        self.budget
    }

    /// All edges, later step by later step.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Declared edges, values within a step, of which not all credit passes; each stands in every
    /// step.
    pub fn declared(&self) -> impl Iterator<Item = (&'p str, Fate)> {
        let points = self.program.points.iter().zip(&self.resolved.points);
        let fate = |factor: f64| if factor == 0.0 { Fate::Dropped } else { Fate::Scaled(factor) };
        points
            .filter(|(_, factor)| **factor != 1.0)
            .map(move |(point, factor)| (point.name.as_str(), fate(*factor)))
    }

    /// The name of the state, register or cache that an edge runs through.
    pub fn name(&self, edge: &Edge) -> Cow<'p, str> {
        let program = self.program;
        match edge.through {
            Through::State => {
                let state = &program.states()[edge.index];
                match edge.part.and_then(|part| state.parts.get(part)) {
                    Some((part, _)) => format!("{}.{part}", state.name).into(),
                    None => state.name.as_str().into(),
                }
            }
            Through::Register => program.registers()[edge.index].name.as_str().into(),
            Through::Cache => program.caches[edge.index].name.as_str().into(),
            Through::Keys => format!("{}.keys", program.caches[edge.index].name).into(),
            Through::Values => format!("{}.values", program.caches[edge.index].name).into(),
        }
    }

    /// Counts the edges that `chosen` picks.
    pub fn tally(&self, chosen: impl Fn(&Edge) -> bool) -> Tally {
        let mut tally = Tally::default();
        self.edges.iter().filter(|edge| chosen(edge)).for_each(|edge| tally.add(edge.fate));
        tally
    }

    /// Counts the edges by a key of the caller's: kind, layer, distance, ...
    pub fn tally_by<K: Ord>(&self, key: impl Fn(&Edge) -> K) -> BTreeMap<K, Tally> {
        let mut tallies: BTreeMap<K, Tally> = BTreeMap::new();
        for edge in &self.edges {
            tallies.entry(key(edge)).or_default().add(edge.fate);
        }
        tallies
    }

    /// Where the loss of step `t` sends credit, by walking the live edges backwards. `None` if the
    /// program has no loss or step `t` is none that learns.
    pub fn reach(&self, t: usize) -> Option<Reach> {
        let loss = self.program.loss_site().filter(|_| (self.prefix..self.steps).contains(&t))?;
        let sites = self.program.nodes().len();
        let mut reach = Reach {
            loss_step: t,
            sites,
            fewest: vec![None; (t + 1) * sites],
            weights: vec![None; t + 1],
        };
        let mut arriving: Vec<Vec<&Edge>> = vec![Vec::new(); t + 1];
        self.edges.iter().filter(|e| e.to <= t).for_each(|e| arriving[e.to].push(e));
        reach.arrive(t, loss, 0);
        // Every edge leads to an earlier step or, within a step, to an earlier site.
        for step in (self.prefix..=t).rev() {
            for site in (0..sites).rev() {
                let Some(passed) = reach.at(step, site) else { continue };
                let mut points = self.program.points.iter().zip(&self.resolved.points);
                if points.any(|(point, factor)| point.site == site && *factor == 0.0) {
                    continue;
                }
                for operand in self.program.nodes()[site].op.operands() {
                    reach.arrive(step, operand, passed);
                }
                for edge in arriving[step].iter().filter(|edge| self.reader(edge) == site) {
                    self.follow(edge, passed, &mut reach);
                }
            }
        }
        Some(reach)
    }

    /// The site of step `edge.to` that reads what arrives.
    fn reader(&self, edge: &Edge) -> Site {
        match edge.through {
            Through::State => self.program.states()[edge.index].read,
            Through::Register => self.program.registers()[edge.index].read,
            Through::Cache | Through::Keys | Through::Values => {
                self.program.caches[edge.index].site
            }
        }
    }

    /// Credit at an edge's reader passes along the edge, as far as its fate allows.
    fn follow(&self, edge: &Edge, passed: usize, reach: &mut Reach) {
        let is_live = edge.fate.is_live();
        let has_budget = self.budget.is_none_or(|budget| passed < budget);
        match edge.through {
            Through::State => {
                let passages = &self.resolved.states[edge.index];
                let counts = passages[edge.part.unwrap_or(0)].counts;
                if is_live && (has_budget || !counts) {
                    let next = self.program.states()[edge.index].next;
                    reach.arrive(edge.from, next, passed + usize::from(counts));
                }
            }
            Through::Register => {
                if is_live {
                    reach.arrive(edge.from, self.program.registers()[edge.index].next, passed);
                }
            }
            Through::Cache | Through::Keys | Through::Values => {
                let cache = &self.program.caches[edge.index];
                if is_live && edge.through != Through::Values {
                    reach.arrive(edge.from, cache.key, passed);
                }
                if is_live && edge.through != Through::Keys {
                    reach.arrive(edge.from, cache.value, passed);
                }
                if edge.fate != Fate::Dropped {
                    fewer(&mut reach.weights[edge.from], passed);
                }
            }
        }
    }
}

/// Where the loss of one step sends credit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    loss_step: usize,
    sites: usize,
    /// `[step][site]`.
    fewest: Vec<Option<usize>>,
    weights: Vec<Option<usize>>,
}

impl Reach {
    /// The step of the loss.
    pub fn loss_step(&self) -> usize {
        self.loss_step
    }

    /// Whether credit reaches a site at a step, and through how many state edges at least.
    pub fn at(&self, step: usize, site: Site) -> Option<usize> {
        self.fewest.get(step * self.sites + site).copied().flatten()
    }

    /// The same for the weights that project what `step` stored, by way of later queries.
    pub fn stored_weights(&self, step: usize) -> Option<usize> {
        self.weights.get(step).copied().flatten()
    }

    fn arrive(&mut self, step: usize, site: Site, passed: usize) {
        fewer(&mut self.fewest[step * self.sites + site], passed);
    }
}

fn fewer(slot: &mut Option<usize>, count: usize) {
    *slot = Some(slot.map_or(count, |known| known.min(count)));
}
