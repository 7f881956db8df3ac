//! Storage for backward passes, allocated once per shape and set of cuts.

use std::sync::Arc;

use backcut_kernels::attention::{NEIGHBOURS, Sent, Shape, Stack};
use backcut_kernels::columns::ROWS;
use backcut_kernels::{Aligned, Real};

use crate::backward::Adjoints;
use crate::backward::collected::Collected;
use crate::backward::lanes::Plan;
use crate::compile::graph::Graph;
use crate::compile::linears::LinearSite;
use crate::compile::program::Program;
use crate::credit::BackwardError;
use crate::credit::Draw;
use crate::cut::Cut;
use crate::forward::rollout::{Attended, Rollout};
use crate::trace::Site;

/// Steps whose adjoints wait for one weight product. Measured on one quadrotor update: 4 costs 2%
/// more than 16, and 32 gains nothing.
pub const DEFAULT_CHUNK: usize = 16;

/// What the queries beyond a few neighbouring positions sent to each of them, for one cache and
/// lane.
#[derive(Clone, Debug)]
pub(crate) struct NeighbourSums<R> {
    /// For keys, and for values.
    pub sides: [SideSums<R>; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct SideSums<R> {
    /// The first of the positions, if the sums are those of the pass at hand.
    pub first: Option<usize>,
    pub slots: Aligned<R>,
}

impl<R: Real> NeighbourSums<R> {
    fn new(shape: Shape) -> Self {
        let slots = || Aligned::zeros(NEIGHBOURS * shape.slot_len());
        let side = || SideSums { first: None, slots: slots() };
        Self { sides: [side(), side()] }
    }

    pub fn forget(&mut self) {
        self.sides.iter_mut().for_each(|side| side.first = None);
    }

    fn bytes(&self) -> usize {
        self.sides.iter().map(|side| side.slots.bytes()).sum()
    }
}

/// Adjoints of a condition's keys and values, which every query adds to.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<R> {
    pub keys: Stack<R>,
    pub values: Stack<R>,
    /// What the query at hand sends.
    pub sent: Sent<R>,
}

impl<R: Real> Tokens<R> {
    fn new(shape: Shape) -> Self {
        let stack = || Stack::new(shape, shape.capacity);
        Self { keys: stack(), values: stack(), sent: Sent::new(shape, 1) }
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
    }

    fn bytes(&self) -> usize {
        self.keys.bytes() + self.values.bytes() + self.sent.bytes()
    }
}

/// Adjoints kept for the caller: `[group][step][row][column]`.
#[derive(Clone, Debug)]
pub(crate) struct Tapped<R> {
    pub site: Site,
    pub data: Vec<R>,
}

/// Everything a backward pass writes. Make it once, use it for every update.
#[derive(Clone, Debug)]
pub struct Workspace<R> {
    pub(crate) program: Arc<Program>,
    pub(crate) rows: usize,
    pub(crate) steps: usize,
    pub(crate) prefix: usize,
    pub(crate) chunk: usize,
    pub(crate) plan: Plan,
    pub(crate) adjoints: Adjoints<R>,
    pub(crate) condition_adjoints: Adjoints<R>,
    /// Adjoints of narrow sites: `[lane][group][column]`.
    pub(crate) columns: Aligned<R>,
    /// `[cache][lane]`: what the queries of every step sent to earlier positions; of the step at
    /// hand alone where a lane does not look back.
    pub(crate) sent: Vec<Vec<Sent<R>>>,
    /// `[cache][lane]`, where a lane looks back.
    pub(crate) neighbour_sums: Vec<Vec<Option<NeighbourSums<R>>>>,
    /// `[cross][lane]`: adjoints of condition keys and values.
    pub(crate) crosses: Vec<Vec<Tokens<R>>>,
    /// `[set]`: the same for attention inside the condition, reused by every lane.
    pub(crate) sets: Vec<Tokens<R>>,
    pub(crate) collected: Vec<Collected<R>>,
    pub(crate) condition_collected: Vec<Collected<R>>,
    /// What the next step hands back: `[state or register][lane][row][column]`.
    pub(crate) handed_states: Vec<Vec<R>>,
    pub(crate) handed_registers: Vec<Vec<R>>,
    /// One slot of lanes.
    pub(crate) scratch: Vec<R>,
    /// One site's adjoint.
    pub(crate) own: Vec<R>,
    /// One chunk of a linear site's operand, without the registers in it.
    pub(crate) masked: Vec<R>,
    /// Parameters whose gradient differs between variants of one group.
    pub(crate) split: Vec<bool>,
    pub(crate) totals: Vec<Aligned<R>>,
    pub(crate) taps: Vec<Tapped<R>>,
}

impl<R: Real> Workspace<R> {
    /// Storage for differentiating `rollout` (or any other of its shape) under `cuts`.
    pub fn new(rollout: &Rollout<R>, cuts: &[Cut]) -> Result<Self, BackwardError> {
        Self::with(rollout, cuts, DEFAULT_CHUNK, true)
    }

    /// The same with a chosen chunk length; it changes speed, never bits.
    pub fn with_chunk(
        rollout: &Rollout<R>,
        cuts: &[Cut],
        chunk: usize,
    ) -> Result<Self, BackwardError> {
        Self::with(rollout, cuts, chunk, true)
    }

    /// One lane per entry of `cuts`, never shared: each will have seeds of its own.
    pub fn for_seeds(rollout: &Rollout<R>, cuts: &[Cut]) -> Result<Self, BackwardError> {
        Self::with(rollout, cuts, DEFAULT_CHUNK, false)
    }

    fn with(
        rollout: &Rollout<R>,
        cuts: &[Cut],
        chunk: usize,
        share: bool,
    ) -> Result<Self, BackwardError> {
        let program = rollout.program().clone();
        let (rows, steps, prefix) = (rollout.rows(), rollout.steps(), rollout.spec.prefix);
        let plan = Plan::new(&program, prefix..steps, cuts, share)?;
        let chunk = chunk.clamp(1, steps - prefix);
        let lanes = plan.lanes;
        let looks_back = |cache, lane| plan.group_of(lane).credits.looks_back(cache);
        let sent = |(cache, a): (usize, &Attended<R>)| {
            let queries = |lane: usize| if looks_back(cache, lane) { steps } else { 1 };
            (0..lanes).map(|lane| Sent::new(a.shape, queries(lane))).collect()
        };
        let neighbour_sums = |(cache, a): (usize, &Attended<R>)| {
            let sums = |lane| looks_back(cache, lane).then(|| NeighbourSums::new(a.shape));
            (0..lanes).map(sums).collect()
        };
        let sent = rollout.caches.iter().enumerate().map(sent).collect();
        let neighbour_sums = rollout.caches.iter().enumerate().map(neighbour_sums).collect();
        let tokens = program.tokens();
        let crosses = rollout
            .crosses
            .iter()
            .map(|a| (0..lanes).map(|_| Tokens::new(a.shape)).collect())
            .collect();
        let sets = rollout.sets.iter().map(|a| Tokens::new(a.shape)).collect();
        let mut split = vec![false; program.layout().parameters().len()];
        for linear in program.linears.iter().filter(|l| l.role.is_memory()) {
            split[linear.weight] = true;
            if let Some(bias) = linear.bias {
                split[bias] = true;
            }
        }
        // What one graph needs: its linear sites' sources, and the adjoints some of them are.
        let half = |graph: &Graph, linears: &[LinearSite], rows: usize, chunk: usize| {
            let new = |l| Collected::new(l, &plan, &split, chunk * rows);
            let collected: Vec<Collected<R>> = linears.iter().map(new).collect();
            let whole = linears.iter().zip(&collected).filter(|(_, c)| c.takes_adjoints());
            let whole: Vec<Site> = whole.map(|(linear, _)| linear.site).collect();
            (collected, Adjoints::new(graph, rows, lanes, &whole, chunk))
        };
        let (collected, adjoints) = half(&program.step, &program.linears, rows, chunk);
        let (condition_collected, condition_adjoints) =
            half(&program.condition, &program.condition_linears, rows * tokens, 1);
        let attended = rollout.caches.iter().chain(&rollout.crosses).chain(&rollout.sets);
        let scratch = attended.map(|a| a.shape.slot_len()).max().unwrap_or(0);
        let crossing = program.crosses.iter().map(|c| c.heads * c.dim);
        let widest = program.linears.iter().map(|l| l.n_out).chain(crossing).max().unwrap_or(0);
        let reads = program.linears.iter().filter(|l| !l.role.registers.is_empty());
        let masked = reads.map(|l| l.n_in * rows * chunk).max().unwrap_or(0);
        let handed = |list: &[crate::trace::Carried]| -> Vec<Vec<R>> {
            list.iter().map(|c| vec![R::ZERO; c.width * rows * lanes]).collect()
        };
        Ok(Self {
            collected,
            adjoints,
            condition_collected,
            condition_adjoints,
            columns: Aligned::zeros(program.narrow.columns * rows.next_multiple_of(ROWS) * lanes),
            sent,
            neighbour_sums,
            crosses,
            sets,
            handed_states: handed(program.states()),
            handed_registers: handed(program.registers()),
            scratch: vec![R::ZERO; scratch],
            own: vec![R::ZERO; widest * rows],
            masked: vec![R::ZERO; masked],
            totals: plan.variants.iter().map(|_| Aligned::zeros(program.layout().len())).collect(),
            split,
            taps: Vec::new(),
            plan,
            program,
            rows,
            steps,
            prefix,
            chunk,
        })
    }

    /// Draws what its cuts leave to chance; without one of these it does nothing. Every backward
    /// runs with the last draw.
    pub fn draw(&mut self, draw: Draw) {
        self.plan.draw(draw);
    }

    /// Keeps the adjoints of a tap, state or register for [`Workspace::adjoint`].
    ///
    /// It is what readers send: more than a cut lets through, where one acts at the register or the
    /// declared edge.
    pub fn keep_adjoints(&mut self, name: &str) -> Result<(), BackwardError> {
        let site = self.program.tap(name).ok_or_else(|| BackwardError::UnknownTap {
            name: name.to_owned(),
            known: self.program.tap_names().join(", "),
        })?;
        if !self.program.step.active[site] {
            return Err(BackwardError::NoAdjoint(name.to_owned()));
        }
        if !self.taps.iter().any(|t| t.site == site) {
            let len = self.plan.groups.len() * self.steps * self.rows * self.program.width(site);
            self.taps.push(Tapped { site, data: vec![R::ZERO; len] });
        }
        Ok(())
    }

    /// The adjoint `[row][column]` of a kept tap at step `t`, for the `cut`-th requested cut.
    pub fn adjoint(&self, name: &str, cut: usize, t: usize) -> Option<&[R]> {
        let site = self.program.tap(name)?;
        let tapped = self.taps.iter().find(|tap| tap.site == site)?;
        let group = self.plan.variants[*self.plan.of_cut.get(cut)?].group;
        let len = self.rows * self.program.width(site);
        tapped.data.get((group * self.steps + t) * len..)?.get(..len)
    }

    /// The gradient of the `cut`-th requested cut, flat, in the layout's order.
    pub fn gradient(&self, cut: usize) -> &[R] {
        &self.totals[self.plan.of_cut[cut]]
    }

    /// Heap bytes of all numbers it holds; plans and places are bookkeeping and not counted.
    pub fn bytes(&self) -> usize {
        let reals = |v: &Vec<R>| v.capacity() * size_of::<R>();
        let collected = self.collected.iter().chain(&self.condition_collected);
        let tokens = self.crosses.iter().flatten().chain(&self.sets);
        self.adjoints.bytes()
            + self.condition_adjoints.bytes()
            + self.columns.bytes()
            + self.sent.iter().flatten().map(Sent::bytes).sum::<usize>()
            + self
                .neighbour_sums
                .iter()
                .flatten()
                .flatten()
                .map(NeighbourSums::bytes)
                .sum::<usize>()
            + tokens.map(Tokens::bytes).sum::<usize>()
            + collected.map(Collected::bytes).sum::<usize>()
            + self.handed_states.iter().chain(&self.handed_registers).map(reals).sum::<usize>()
            + reals(&self.scratch)
            + reals(&self.own)
            + reals(&self.masked)
            + self.totals.iter().map(Aligned::bytes).sum::<usize>()
            + self.taps.iter().map(|t| reals(&t.data)).sum::<usize>()
    }
}
