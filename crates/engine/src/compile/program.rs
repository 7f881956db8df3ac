//! A compiled program: one step, what it carries to the next, and what can be cut.

use std::sync::Arc;

use backcut_kernels::attention::Side;

use crate::compile::graph::Graph;
use crate::compile::linears::{LinearSite, linear_sites};
use crate::compile::narrow::{Narrow, Turn};
use crate::trace::ops::{Attend, Cross, Op, SetAttend, StepRow};
use crate::trace::{
    Bound, Carried, Inner, Layout, Named, Node, ParamId, Scope, Site, Trace, TraceError,
};

/// A causal attention and its cache.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CacheSite {
    pub name: String,
    pub site: Site,
    pub key: Site,
    pub value: Site,
    pub heads: usize,
    pub dim: usize,
}

/// A cross-attention or set attention over the condition's tokens.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TokenSite {
    pub site: Site,
    /// Sites of the condition graph.
    pub key: Site,
    pub value: Site,
    pub heads: usize,
    pub dim: usize,
}

/// The place of a token attention in its list.
pub(crate) fn position(sites: &[TokenSite], site: Site) -> usize {
    sites.iter().position(|s| s.site == site).expect("every token attention is listed")
}

/// One step, compiled. Immutable; shared by every rollout and workspace.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) step: Graph,
    pub(crate) condition: Graph,
    pub(crate) tokens: usize,
    pub(crate) layout: Arc<Layout>,
    pub(crate) inputs: Vec<Named>,
    pub(crate) condition_inputs: Vec<Named>,
    pub(crate) states: Vec<Carried>,
    pub(crate) registers: Vec<Carried>,
    pub(crate) caches: Vec<CacheSite>,
    pub(crate) crosses: Vec<TokenSite>,
    pub(crate) sets: Vec<TokenSite>,
    pub(crate) linears: Vec<LinearSite>,
    pub(crate) condition_linears: Vec<LinearSite>,
    pub(crate) taps: Vec<Named>,
    pub(crate) bounds: Vec<Bound>,
    /// Declared edges.
    pub(crate) points: Vec<Named>,
    /// Whether a site is one.
    pub(crate) is_point: Vec<bool>,
    pub(crate) loss: Option<Site>,
    /// For each site, the caches it feeds as key or value.
    pub(crate) feeds: Vec<Vec<(usize, Side)>>,
    /// A site's place among `linears`.
    pub(crate) linear_at: Vec<Option<usize>>,
    /// The step's instructions, one by one; `narrow` has them in runs.
    pub(crate) turns: Vec<Turn>,
    pub(crate) narrow: Arc<Narrow>,
    /// The longest rollout: the shortest learned table, if there is one.
    pub(crate) max_steps: Option<usize>,
}

impl Program {
    /// Names, shapes and places of the parameters.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    #[inline(always)]
    pub(crate) fn graph(&self, scope: Scope) -> &Graph {
        match scope {
            Scope::Step => &self.step,
            Scope::Condition => &self.condition,
        }
    }

    /// The step's instructions in order.
    pub fn nodes(&self) -> &[Node] {
        &self.step.nodes
    }

    /// The condition's instructions in order.
    pub fn condition_nodes(&self) -> &[Node] {
        &self.condition.nodes
    }

    /// Tokens of the condition; 0 without a condition.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The physical states.
    pub fn states(&self) -> &[Carried] {
        &self.states
    }

    /// The memory registers.
    pub fn registers(&self) -> &[Carried] {
        &self.registers
    }

    /// Dotted names of all edges that a cut may name.
    pub fn edge_names(&self) -> Vec<String> {
        let sides = |c: &CacheSite| ["keys", "values"].map(|side| format!("{}.{side}", c.name));
        let parts = |state: &Carried| match &state.parts[..] {
            [] => vec![state.name.clone()],
            parts => parts.iter().map(|(part, _)| format!("{}.{part}", state.name)).collect(),
        };
        let caches = self.caches.iter().flat_map(sides);
        let registers = self.registers.iter().map(|register| register.name.clone());
        let states = self.states.iter().flat_map(parts);
        let points = self.points.iter().map(|point| point.name.clone());
        caches.chain(registers).chain(states).chain(points).collect()
    }

    /// Declared edges, in the order in which a cut's factors of them are listed.
    pub fn declared_edges(&self) -> impl Iterator<Item = (&str, Site)> {
        self.points.iter().map(|point| (point.name.as_str(), point.site))
    }

    /// Names of the caches, in the order of the layers.
    pub fn cache_names(&self) -> impl Iterator<Item = &str> {
        self.caches.iter().map(|c| c.name.as_str())
    }

    /// Names of everything that is stored for later steps: caches, then registers.
    pub fn memory_names(&self) -> impl Iterator<Item = &str> {
        self.cache_names().chain(self.registers.iter().map(|register| register.name.as_str()))
    }

    /// Whether something is stored for later steps.
    pub fn has_memory(&self) -> bool {
        !self.caches.is_empty() || !self.registers.is_empty()
    }

    /// The site of the loss.
    pub fn loss_site(&self) -> Option<Site> {
        self.loss
    }

    /// Names of the per-step inputs with their widths.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, usize)> {
        self.inputs.iter().map(|i| (i.name.as_str(), self.step.width(i.site)))
    }

    /// Names of the condition's inputs with their widths.
    pub fn condition_inputs(&self) -> impl Iterator<Item = (&str, usize)> {
        self.condition_inputs.iter().map(|i| (i.name.as_str(), self.condition.width(i.site)))
    }

    /// The site of a tap, a state or an input.
    pub fn tap(&self, name: &str) -> Option<Site> {
        let carried = self.states.iter().chain(&self.registers);
        self.taps
            .iter()
            .chain(&self.inputs)
            .find(|n| n.name == name)
            .map(|n| n.site)
            .or_else(|| carried.clone().find(|c| c.name == name).map(|c| c.read))
    }

    /// Names that [`Program::tap`] knows.
    pub fn tap_names(&self) -> Vec<&str> {
        let named = self.taps.iter().chain(&self.inputs).map(|n| n.name.as_str());
        let carried = self.states.iter().chain(&self.registers).map(|c| c.name.as_str());
        named.chain(carried).collect()
    }

    /// Columns of a site of the step.
    pub fn width(&self, site: Site) -> usize {
        self.step.width(site)
    }

    /// Sites of the step that run column by column: narrow arithmetic, such as dynamics are made
    /// of.
    pub fn sites_in_columns(&self) -> usize {
        self.narrow.sites()
    }

    /// The narrow sites without `fed`, which run one by one because their values come from
    /// elsewhere.
    pub(crate) fn narrow_without(&self, fed: &[Site]) -> Arc<Narrow> {
        if !self.narrow.runs.iter().flat_map(|run| &run.gives).any(|site| fed.contains(site)) {
            return self.narrow.clone();
        }
        let bounded = self.bounds.iter().map(|b| b.site);
        let observed: Vec<Site> = self.step.preset.iter().copied().chain(bounded).collect();
        let stays =
            |site: Site| !self.feeds[site].is_empty() || self.is_point[site] || fed.contains(&site);
        Arc::new(Narrow::new(&self.step, stays, &observed))
    }

    /// The longest rollout, where a learned table limits it.
    pub fn max_steps(&self) -> Option<usize> {
        self.max_steps
    }
}

fn unfinished(carried: &[Carried], what: &str) -> Option<TraceError> {
    carried.iter().find(|c| c.next == usize::MAX).map(|c| {
        TraceError::new(
            format!("{what} `{}` is never handed on", c.name),
            "compile",
            "call trace.next(name, value) once for every state and register",
        )
    })
}

/// Which sites depend on something that learns or is carried.
fn learning(nodes: &[Node], condition: &[bool]) -> Vec<bool> {
    let mut learns = Vec::with_capacity(nodes.len());
    for node in nodes {
        let own = matches!(node.op, Op::State(_) | Op::Register(_))
            || !node.op.parameters().is_empty()
            || node.op.condition_operands().iter().any(|&s| condition[s]);
        let inherited = node.op.operands().iter().any(|&s| learns[s]);
        learns.push(own || inherited);
    }
    learns
}

impl Trace {
    /// Checks and compiles the step.
    pub fn compile(self) -> Result<Program, TraceError> {
        compile(self.inner.into_inner())
    }
}

fn compile(inner: Inner) -> Result<Program, TraceError> {
    if let Some(error) = inner.error {
        return Err(error);
    }
    if let Some(error) =
        unfinished(&inner.states, "state").or_else(|| unfinished(&inner.registers, "register"))
    {
        return Err(error);
    }
    let max_steps = inner
        .step
        .iter()
        .filter_map(|n| match n.op {
            Op::StepRow(StepRow(table)) => Some(inner.layout.parameters()[table].rows),
            _ => None,
        })
        .min();
    let caches: Vec<CacheSite> = inner
        .caches
        .iter()
        .filter_map(|named| match inner.step[named.site].op {
            Op::Attend(Attend { key, value, heads, .. }) => Some(CacheSite {
                name: named.name.clone(),
                site: named.site,
                key,
                value,
                heads,
                dim: inner.step[named.site].width / heads,
            }),
            _ => None,
        })
        .collect();
    let token_sites = |nodes: &[Node]| -> Vec<TokenSite> {
        nodes
            .iter()
            .enumerate()
            .filter_map(|(site, node)| match node.op {
                Op::Cross(Cross { key, value, heads, .. })
                | Op::SetAttend(SetAttend { key, value, heads, .. }) => {
                    Some(TokenSite { site, key, value, heads, dim: node.width / heads })
                }
                _ => None,
            })
            .collect()
    };
    let crosses = token_sites(&inner.step);
    let sets = token_sites(&inner.condition);

    let condition_learns = learning(&inner.condition, &[]);
    let step_learns = learning(&inner.step, &condition_learns);
    let condition_preset =
        inner.step.iter().flat_map(|n| n.op.condition_operands()).collect::<Vec<_>>();
    let step_preset = inner
        .states
        .iter()
        .chain(&inner.registers)
        .map(|c| c.next)
        .chain(inner.taps.iter().map(|t| t.site))
        .chain(inner.loss)
        .collect::<Vec<_>>();
    let bounded = inner.bounds.iter().map(|b| b.site);
    let observed: Vec<Site> = step_preset.iter().copied().chain(bounded).collect();
    let step = Graph::new(inner.step, &step_learns, step_preset, &observed);
    let read = condition_preset.clone();
    let condition = Graph::new(inner.condition, &condition_learns, condition_preset, &read);
    let mut feeds = vec![Vec::new(); step.nodes.len()];
    for (index, cache) in caches.iter().enumerate() {
        feeds[cache.key].push((index, Side::Key));
        feeds[cache.value].push((index, Side::Value));
    }
    // A parameter that a norm or a table also uses is shared: linear sites accumulate apart.
    let mut used: Vec<ParamId> = step
        .nodes
        .iter()
        .chain(&condition.nodes)
        .filter(|n| !matches!(n.op, Op::Linear(_)))
        .flat_map(|n| n.op.parameters())
        .collect();
    let linears = linear_sites(&step.nodes, &mut used, &feeds);
    let condition_linears = linear_sites(&condition.nodes, &mut used, &[]);
    let linear_at = |site: Site| linears.iter().position(|l| l.site == site);
    let mut is_point = vec![false; step.nodes.len()];
    inner.points.iter().for_each(|point| is_point[point.site] = true);
    let stays = |site: Site| !feeds[site].is_empty() || is_point[site];
    let narrow = Narrow::new(&step, stays, &observed);
    let program = Program {
        linear_at: (0..step.nodes.len()).map(linear_at).collect(),
        turns: (0..step.nodes.len()).map(Turn::Site).collect(),
        narrow: Arc::new(narrow),
        step,
        condition,
        tokens: inner.tokens,
        layout: Arc::new(inner.layout),
        inputs: inner.inputs,
        condition_inputs: inner.condition_inputs,
        states: inner.states,
        registers: inner.registers,
        caches,
        crosses,
        sets,
        linears,
        condition_linears,
        taps: inner.taps,
        bounds: inner.bounds,
        points: inner.points,
        is_point,
        loss: inner.loss,
        feeds,
        max_steps,
    };
    let mut names = program.edge_names();
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(program),
        Some(pair) => Err(TraceError::new(
            format!("two edges are named `{}`", pair[0]),
            "compile",
            "a cache NAME has the edges NAME.keys and NAME.values, a state's parts NAME.PART: \
             choose another name",
        )),
    }
}
