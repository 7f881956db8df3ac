//! A compiled instruction list: where values and adjoints lie, and who accumulates where.
//!
//! Values are `[site][step][row][column]` (`[site][row][column]` where no later pass needs them),
//! adjoints `[site][lane][row][column]`. An operand always lies before its reader, so one
//! `split_at_mut` separates what an instruction reads from what it writes, forward and backward,
//! without `unsafe`.

use std::ops::Range;

use backcut_kernels::elementwise::Put;

use crate::trace::ops::{Arithmetic, Binary, Gelu, Linear, Op};
use crate::trace::{Node, Site};

/// What flows back from an instruction to one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// The operand does not depend on anything that learns.
    None,
    /// The first contribution of the step: stored.
    Store,
    /// A later contribution: added.
    Add,
}

impl Flow {
    /// How the operand's adjoint is left; `None` if nothing flows.
    pub fn put(self) -> Option<Put> {
        match self {
            Self::None => None,
            Self::Store => Some(Put::Store),
            Self::Add => Some(Put::Add),
        }
    }
}

/// One graph (the step's or the condition's), ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    /// Each site's operands, as [`Op::operands`] lists them.
    pub operands: Vec<Vec<Site>>,
    /// Whether the values of all steps are kept, for the backward or for a reader outside. The
    /// others live in one step's space that never leaves the cache.
    pub kept: Vec<bool>,
    /// Whether an adjoint reaches the site.
    pub active: Vec<bool>,
    /// For each site, what flows to each operand.
    pub flows: Vec<Vec<Flow>>,
    /// Sites whose adjoint is set at the start of a step (handed over, seeded, or the loss).
    pub preset: Vec<Site>,
    /// Where the site's adjoint lies: its own place, or that of the site it is fused with.
    pub home: Vec<Site>,
    pub fused: Vec<Fused>,
    /// Numbers that belong to instructions, one after the other, and where each site's begin.
    pub constants: Vec<f64>,
    constants_at: Vec<usize>,
}

/// Passes over memory that an instruction spares by working together with its reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fused {
    /// Nothing.
    Alone,
    /// An addition that computes `linear + other` in the product's epilogue, where nothing else
    /// reads the linear site; their adjoints are the same.
    Sum { linear: Site, other: Site },
    /// A linear site that alone reads a GELU: its adjoint goes through the derivative in the
    /// product's epilogue.
    AfterGelu { gelu: Site },
    /// The GELU of such a linear site.
    Gelu,
}

/// Which sites' values a derivative needs, or somebody outside reads.
fn kept(nodes: &[Node], observed: &[Site]) -> Vec<bool> {
    let by_name = |n: &Node| matches!(n.op, Op::Input(_) | Op::State(_) | Op::Register(_));
    let mut kept: Vec<bool> = nodes.iter().map(by_name).collect();
    let read = nodes.iter().enumerate().flat_map(|(site, node)| node.op.derivative_reads(site));
    for site in read.chain(observed.iter().copied()) {
        kept[site] = true;
    }
    kept
}

/// Finds fusions; `observed` sites are read from outside and stay as they are.
fn fuse(nodes: &[Node], observed: &[Site]) -> (Vec<Fused>, Vec<Site>) {
    let mut readers = vec![0; nodes.len()];
    for operand in nodes.iter().flat_map(|n| n.op.operands()) {
        readers[operand] += 1;
    }
    let private = |site: Site| readers[site] == 1 && !observed.contains(&site);
    let is_linear = |site: Site| matches!(nodes[site].op, Op::Linear(_));
    let mut fused = vec![Fused::Alone; nodes.len()];
    let mut home: Vec<Site> = (0..nodes.len()).collect();
    for (site, node) in nodes.iter().enumerate() {
        if let Op::Binary(Binary { function: Arithmetic::Sum, a, b }) = node.op
            && nodes[a].width == nodes[b].width
        {
            let pick = [(b, a), (a, b)].into_iter().find(|&(l, _)| is_linear(l) && private(l));
            if let Some((linear, other)) = pick {
                fused[site] = Fused::Sum { linear, other };
                home[linear] = site;
            }
        }
        if let Op::Linear(Linear { x, .. }) = node.op
            && let Op::Gelu(Gelu { x: before }) = nodes[x].op
            && private(x)
            && private(before)
            && is_linear(before)
        {
            fused[site] = Fused::AfterGelu { gelu: x };
            fused[x] = Fused::Gelu;
            home[x] = before;
        }
    }
    (fused, home)
}

impl Graph {
    /// `learns[i]`: site `i` depends on a parameter, a carried value or the condition.
    /// `preset`: sites that receive an adjoint from outside the step.
    /// `observed`: sites whose values are read from outside.
    pub fn new(
        nodes: Vec<Node>,
        learns: &[bool],
        mut preset: Vec<Site>,
        observed: &[Site],
    ) -> Self {
        let (fused, home) = fuse(&nodes, observed);
        let kept = kept(&nodes, observed);
        preset.sort_unstable();
        preset.dedup();
        preset.retain(|&site| learns[site]);
        let mut set = vec![false; nodes.len()];
        for &site in &preset {
            set[site] = true;
        }
        let mut active = vec![false; nodes.len()];
        let mut flows: Vec<Vec<Flow>> = vec![Vec::new(); nodes.len()];
        for site in (0..nodes.len()).rev() {
            active[site] = set[site];
            flows[site] = nodes[site]
                .op
                .operands()
                .into_iter()
                .map(|operand| {
                    if !active[site] || !learns[operand] {
                        Flow::None
                    } else if home[operand] == site {
                        // The same adjoint in the same place: nothing to move.
                        set[operand] = true;
                        Flow::None
                    } else if std::mem::replace(&mut set[operand], true) {
                        Flow::Add
                    } else {
                        Flow::Store
                    }
                })
                .collect();
        }
        let (mut constants, mut constants_at) = (Vec::new(), vec![0]);
        for node in &nodes {
            constants.extend(node.op.constants());
            constants_at.push(constants.len());
        }
        Self {
            constants,
            constants_at,
            operands: nodes.iter().map(|n| n.op.operands()).collect(),
            nodes,
            kept,
            active,
            flows,
            preset,
            home,
            fused,
        }
    }

    #[inline(always)]
    pub fn width(&self, site: Site) -> usize {
        self.nodes[site].width
    }

    /// Where a site's constants lie among all.
    #[inline(always)]
    pub fn constants(&self, site: Site) -> Range<usize> {
        self.constants_at[site]..self.constants_at[site + 1]
    }
}

/// Where a site's values lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    start: usize,
    /// From one step to the next; zero for values that are not kept.
    stride: usize,
    len: usize,
    saved_start: usize,
    saved_len: usize,
}

/// Every place begins on a cache line: so many numbers in single precision.
const LINE: usize = 16;

/// Where runs of numbers of the given lengths begin when they lie one after the other, and where
/// the last of them ends.
pub(crate) fn lay_out(lengths: impl Iterator<Item = usize>) -> (Vec<usize>, usize) {
    let mut end = 0;
    let starts = lengths.map(|len| {
        let start = end;
        end = (end + len).next_multiple_of(LINE);
        start
    });
    (starts.collect(), end)
}

/// Where the values of one graph lie in a rollout, worked out once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    pub rows: usize,
    places: Vec<Place>,
    /// Values of all sites.
    pub len: usize,
    /// Numbers that instructions keep for their derivatives.
    pub saved_len: usize,
}

impl Frame {
    pub fn new(graph: &Graph, rows: usize, steps: usize) -> Self {
        let sites = || graph.nodes.iter().zip(&graph.kept);
        let copies = |kept: bool| if kept { steps } else { 1 };
        let (starts, len) = lay_out(sites().map(|(n, &kept)| n.width * rows * copies(kept)));
        let saved = |node: &Node| node.op.saved_per_row(node.width) * rows;
        let (saved_starts, saved_len) = lay_out(graph.nodes.iter().map(|n| saved(n) * steps));
        let places = sites().zip(starts.iter().zip(&saved_starts));
        let places = places.map(|((node, &kept), (&start, &saved_start))| {
            let len = node.width * rows;
            let stride = if kept { len } else { 0 };
            Place { start, stride, len, saved_start, saved_len: saved(node) }
        });
        Self { rows, places: places.collect(), len, saved_len }
    }

    /// Start of a site's values at step `t`.
    #[inline(always)]
    pub fn at(&self, site: Site, t: usize) -> usize {
        let place = &self.places[site];
        place.start + t * place.stride
    }

    /// A site's values at step `t`.
    #[inline(always)]
    pub fn range(&self, site: Site, t: usize) -> Range<usize> {
        let place = &self.places[site];
        let start = place.start + t * place.stride;
        start..start + place.len
    }

    /// What a site keeps for its derivative at step `t`.
    #[inline(always)]
    pub fn saved(&self, site: Site, t: usize) -> Range<usize> {
        let place = &self.places[site];
        let start = place.saved_start + t * place.saved_len;
        start..start + place.saved_len
    }
}
