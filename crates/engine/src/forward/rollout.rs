//! The record of one forward: everything any backward will need, and nothing about cuts.

pub(crate) mod spec;

use std::sync::Arc;

use backcut_kernels::attention::{Cache, Credit, Sent, Shape, Stack};
use backcut_kernels::columns::ROWS;
use backcut_kernels::{Aligned, Real};

use self::spec::{Fixed, ForwardError, ForwardSpec};
use crate::compile::graph::{Frame, Graph};
use crate::compile::narrow::Narrow;
use crate::compile::program::{CacheSite, Program, TokenSite};
use crate::trace::ops::{Constant, Op};
use crate::trace::{Scope, Site};

/// Values of one graph, with what its instructions keep for their derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Record<R> {
    pub frame: Frame,
    pub values: Aligned<R>,
    pub saved: Aligned<R>,
}

impl<R: Real> Record<R> {
    fn new(graph: &Graph, rows: usize, steps: usize) -> Self {
        let frame = Frame::new(graph, rows, steps);
        let mut values = Aligned::zeros(frame.len);
        for (site, node) in graph.nodes.iter().enumerate() {
            if let Op::Constant(Constant(value)) = node.op {
                let copies = if graph.kept[site] { steps } else { 1 };
                let start = frame.at(site, 0);
                values[start..][..node.width * rows * copies].fill(R::from_f64(value));
            }
        }
        let saved = Aligned::zeros(frame.saved_len);
        Self { frame, values, saved }
    }

    fn bytes(&self) -> usize {
        self.values.bytes() + self.saved.bytes()
    }
}

/// Columns of the narrow sites, in groups of eight rows.
#[derive(Clone, Debug)]
pub(crate) struct Columns<R> {
    /// Whether the rollout's narrow values are here; otherwise they are rows.
    pub used: bool,
    /// `[group][column]`, of the step at hand.
    pub file: Aligned<R>,
    /// `[step][group][column]`, as far as a backward needs them.
    pub kept: Aligned<R>,
}

impl<R: Real> Columns<R> {
    fn new(narrow: &Narrow, rows: usize, steps: usize) -> Self {
        let groups = rows.div_ceil(ROWS);
        let numbers = |columns: usize| Aligned::zeros(columns * groups * ROWS);
        Self { used: false, file: numbers(narrow.columns), kept: numbers(narrow.kept * steps) }
    }

    fn bytes(&self) -> usize {
        self.file.bytes() + self.kept.bytes()
    }
}

/// An attention's cache and the probabilities of every query.
#[derive(Clone, Debug)]
pub(crate) struct Attended<R> {
    pub shape: Shape,
    pub cache: Cache<R>,
    pub queries: Stack<R>,
    /// `[query][position][lane]`
    pub probabilities: Aligned<R>,
    pub scratch: Vec<R>,
}

impl<R: Real> Attended<R> {
    fn new(rows: usize, heads: usize, dim: usize, positions: usize, queries: usize) -> Self {
        let shape = Shape { rows, heads, dim, capacity: positions };
        Self {
            shape,
            cache: Cache::new(shape),
            queries: Stack::new(shape, queries),
            probabilities: Aligned::zeros(shape.probability_len() * queries),
            scratch: vec![R::ZERO; shape.slot_len()],
        }
    }

    pub fn probabilities_at(&self, query: usize) -> &[R] {
        let len = self.shape.probability_len();
        &self.probabilities[query * len..][..len]
    }

    /// What the positions of the cache receive, given what the queries send.
    pub fn credit<'a>(&'a self, sent: &'a Sent<R>) -> Credit<'a, R> {
        let Self { shape, queries, probabilities, .. } = self;
        Credit { shape: *shape, queries, probabilities, sent }
    }

    fn bytes(&self) -> usize {
        let scratch = self.scratch.len() * size_of::<R>();
        self.cache.bytes() + self.queries.bytes() + self.probabilities.bytes() + scratch
    }
}

/// One recorded forward of a batch. Reusable: fill the inputs, roll, differentiate, repeat.
#[derive(Clone, Debug)]
pub struct Rollout<R> {
    program: Arc<Program>,
    rows: usize,
    steps: usize,
    pub(crate) spec: ForwardSpec<R>,
    pub(crate) fixed: Vec<Fixed<R>>,
    pub(crate) step: Record<R>,
    /// The program's narrow sites, without those that are fed.
    pub(crate) narrow: Arc<Narrow>,
    pub(crate) columns: Columns<R>,
    pub(crate) condition: Record<R>,
    pub(crate) caches: Vec<Attended<R>>,
    pub(crate) crosses: Vec<Attended<R>>,
    pub(crate) sets: Vec<Attended<R>>,
    pub(crate) initial_states: Vec<Vec<R>>,
    pub(crate) initial_registers: Vec<Vec<R>>,
    pub(crate) row_loss: Vec<f64>,
    pub(crate) rolled: bool,
    /// The stamp of the model that rolled it.
    pub(crate) stamp: u64,
}

impl<R: Real> Rollout<R> {
    /// Storage for `rows` trajectories of `steps` steps (a prefix included).
    pub fn new(
        program: &Arc<Program>,
        rows: usize,
        steps: usize,
        spec: ForwardSpec<R>,
    ) -> Result<Self, ForwardError> {
        let fixed = spec.check(program, rows, steps)?;
        let narrow = program.narrow_without(&fixed.iter().map(|f| f.site).collect::<Vec<_>>());
        let tokens = program.tokens();
        let caches = program
            .caches
            .iter()
            .map(|c: &CacheSite| Attended::new(rows, c.heads, c.dim, steps, steps))
            .collect();
        let over_tokens = |sites: &[TokenSite], queries: usize| {
            let new = |s: &TokenSite| Attended::new(rows, s.heads, s.dim, tokens, queries);
            sites.iter().map(new).collect()
        };
        let carried = |list: &[crate::trace::Carried]| {
            list.iter().map(|c| vec![R::ZERO; rows * c.width]).collect()
        };
        Ok(Self {
            rows,
            steps,
            fixed,
            step: Record::new(&program.step, rows, steps),
            columns: Columns::new(&narrow, rows, steps),
            narrow,
            condition: Record::new(&program.condition, rows * tokens, 1),
            caches,
            crosses: over_tokens(&program.crosses, steps),
            sets: over_tokens(&program.sets, tokens),
            initial_states: carried(program.states()),
            initial_registers: carried(program.registers()),
            row_loss: vec![0.0; rows],
            rolled: false,
            stamp: 0,
            spec,
            program: program.clone(),
        })
    }

    /// The program it is a rollout of.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Trajectories.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Steps, a prefix included.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// What changes its forward.
    pub fn spec(&self) -> &ForwardSpec<R> {
        &self.spec
    }

    /// Heap bytes of all numbers it holds: the record, initial values, and what is fed from
    /// outside.
    pub fn bytes(&self) -> usize {
        let attended = self.caches.iter().chain(&self.crosses).chain(&self.sets);
        let initial = self.initial_states.iter().chain(&self.initial_registers);
        let outside = self.fixed.iter().map(|f| &f.values);
        self.step.bytes()
            + self.columns.bytes()
            + self.condition.bytes()
            + attended.map(Attended::bytes).sum::<usize>()
            + initial.chain(outside).map(|v| v.len() * size_of::<R>()).sum::<usize>()
            + self.row_loss.len() * size_of::<f64>()
    }

    /// The values of a graph.
    #[inline(always)]
    pub(crate) fn record(&self, scope: Scope) -> &Record<R> {
        match scope {
            Scope::Step => &self.step,
            Scope::Condition => &self.condition,
        }
    }

    /// Whether a site's value was fed from outside at step `t`.
    pub(crate) fn is_fixed(&self, site: Site, t: usize) -> bool {
        self.fixed.iter().any(|f| f.site == site && f.steps.contains(&t))
    }

    /// Puts what is fed at step `t` in the place of the sites' own values.
    #[inline]
    pub(crate) fn feed(&mut self, t: usize, is_due: impl Fn(Site) -> bool) {
        let Self { fixed, step, .. } = self;
        for fixed in fixed {
            if fixed.steps.contains(&t) && is_due(fixed.site) {
                let to = step.frame.range(fixed.site, t);
                let from = (t - fixed.steps.start) * to.len();
                step.values[to.clone()].copy_from_slice(&fixed.values[from..][..to.len()]);
            }
        }
    }

    /// Sites that run column by column: the program's, but for those that are fed.
    pub fn sites_in_columns(&self) -> usize {
        self.narrow.sites()
    }

    /// Where to write a per-step input, `[step][row][column]`.
    pub fn input_mut(&mut self, name: &str) -> Option<&mut [R]> {
        self.rolled = false;
        let site = self.program.inputs.iter().find(|i| i.name == name)?.site;
        let width = self.program.step.width(site);
        let start = self.step.frame.at(site, 0);
        Some(&mut self.step.values[start..][..width * self.rows * self.steps])
    }

    /// Where to write an input of the condition, `[row][token][column]`.
    pub fn condition_input_mut(&mut self, name: &str) -> Option<&mut [R]> {
        self.rolled = false;
        let site = self.program.condition_inputs.iter().find(|i| i.name == name)?.site;
        let range = self.condition.frame.range(site, 0);
        Some(&mut self.condition.values[range])
    }

    /// Where to write the values of a site that the spec says is fed, `[step][row][column]` over
    /// the steps at which it is. They stay until they are written again.
    pub fn fed_mut(&mut self, name: &str) -> Option<&mut [R]> {
        self.rolled = false;
        let site = self.program.tap(name)?;
        self.fixed.iter_mut().find(|f| f.site == site).map(|f| &mut f.values[..])
    }

    /// Where to write the first value of a state or register, `[row][column]`.
    pub fn initial_mut(&mut self, name: &str) -> Option<&mut [R]> {
        self.rolled = false;
        if let Some(i) = self.program.states().iter().position(|c| c.name == name) {
            return Some(&mut self.initial_states[i]);
        }
        let i = self.program.registers().iter().position(|c| c.name == name)?;
        Some(&mut self.initial_registers[i])
    }

    /// Values of a tap, state, register or input at one step, `[row][column]`.
    ///
    /// Other sites are kept only where a derivative needs them. Narrow ones among them are rows
    /// after [`Model::roll_checked`](crate::Model::roll_checked) alone; otherwise this is what such
    /// a roll left behind, or zeros.
    pub fn value(&self, site: Site, t: usize) -> &[R] {
        &self.step.values[self.step.frame.range(site, t)]
    }

    /// Values of a tap, state, register or input over all steps, `[step][row][column]`; a site that
    /// is not kept (see [`Rollout::value`]) has one step.
    pub fn values(&self, site: Site) -> &[R] {
        let copies = if self.program.step.kept[site] { self.steps } else { 1 };
        let len = self.program.width(site) * self.rows * copies;
        &self.step.values[self.step.frame.at(site, 0)..][..len]
    }

    /// Attention probabilities of the query at step `t`: `[position][lane]`, meaningful up to `t`;
    /// the shape says which lane a row and head has.
    pub fn probabilities(&self, cache: &str, t: usize) -> Option<(&[R], Shape)> {
        let index = self.program.caches.iter().position(|c| c.name == cache)?;
        let attended = &self.caches[index];
        Some((attended.probabilities_at(t), attended.shape))
    }

    /// The loss of each row, summed over predicted steps; `None` before rolling.
    pub fn row_loss(&self) -> Option<&[f64]> {
        self.rolled.then_some(self.row_loss.as_slice())
    }

    /// The loss, summed over rows and predicted steps; `None` before rolling.
    pub fn loss(&self) -> Option<f64> {
        self.row_loss().map(|rows| rows.iter().sum())
    }
}
