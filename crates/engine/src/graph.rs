//! A compiled instruction list: where values and adjoints lie, and who accumulates where.
//!
//! Values are `[site][step][row][column]`, adjoints `[site][lane][row][column]`. An operand always
//! lies before its reader, so one `split_at_mut` separates what an instruction reads from what it
//! writes, forward and backward, without `unsafe`.

use crate::trace::{Node, Op, Site};

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
    pub fn adds(self) -> bool {
        self == Self::Add
    }
}

/// One graph (the step's or the condition's), ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    /// Columns before each site's own.
    pub columns_before: Vec<usize>,
    pub columns: usize,
    /// Extra numbers kept per row for the derivative, and their place.
    pub saved_before: Vec<usize>,
    pub saved: usize,
    /// Whether an adjoint reaches the site.
    pub active: Vec<bool>,
    /// For each site, what flows to each operand.
    pub flows: Vec<Vec<Flow>>,
    /// Sites whose adjoint is set at the start of a step (handed over, seeded, or the loss).
    pub preset: Vec<Site>,
}

/// Numbers per row that an instruction keeps for its derivative.
fn saved_per_row(node: &Node) -> usize {
    match node.op {
        Op::LayerNorm { .. } => backcut_kernels::norm::SAVED_PER_ROW,
        Op::Gelu { .. } => node.width,
        _ => 0,
    }
}

impl Graph {
    /// `learns[i]`: site `i` depends on a parameter, a carried value or the condition.
    /// `preset`: sites that receive an adjoint from outside the step.
    pub fn new(nodes: Vec<Node>, learns: &[bool], mut preset: Vec<Site>) -> Self {
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
                    } else if std::mem::replace(&mut set[operand], true) {
                        Flow::Add
                    } else {
                        Flow::Store
                    }
                })
                .collect();
        }
        let (mut columns, mut saved) = (0, 0);
        let (mut columns_before, mut saved_before) = (Vec::new(), Vec::new());
        for node in &nodes {
            columns_before.push(columns);
            saved_before.push(saved);
            columns += node.width;
            saved += saved_per_row(node);
        }
        Self { nodes, columns_before, columns, saved_before, saved, active, flows, preset }
    }

    pub fn width(&self, site: Site) -> usize {
        self.nodes[site].width
    }
}

/// Where the values of one graph lie in a rollout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    pub rows: usize,
    pub steps: usize,
}

impl Frame {
    /// Start of a site's values at step `t`.
    pub fn at(self, graph: &Graph, site: Site, t: usize) -> usize {
        (graph.columns_before[site] * self.steps + t * graph.width(site)) * self.rows
    }

    /// A site's values at step `t`.
    pub fn range(self, graph: &Graph, site: Site, t: usize) -> std::ops::Range<usize> {
        let start = self.at(graph, site, t);
        start..start + graph.width(site) * self.rows
    }

    /// What a site keeps for its derivative at step `t`.
    pub fn saved(self, graph: &Graph, site: Site, t: usize) -> std::ops::Range<usize> {
        let per_row = saved_per_row(&graph.nodes[site]);
        let start = (graph.saved_before[site] * self.steps + t * per_row) * self.rows;
        start..start + per_row * self.rows
    }
}
