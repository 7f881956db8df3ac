//! Narrow sites run column by column: which they are, and what they become.
//!
//! A run is a stretch of narrow sites without anything else between them. It becomes two lists for
//! the machine in [`backcut_kernels::columns`], and lists of what crosses its border: values and
//! adjoints are rows everywhere else. Inside, private values never leave the columns. The bits are
//! those of the instructions one by one, which run where a roll is watched. A site that is fed from
//! outside stays a row, and interrupts its run.

use std::ops::Range;

use crate::compile::columns::{ColumnBackward, ColumnForward, ColumnSite, has_columns};
use crate::compile::graph::{Flow, Fused, Graph};
use crate::trace::Site;

/// Wider sites stay rows.
const WIDEST: usize = 16;

/// Shorter runs are not worth the turn to columns and back.
const SHORTEST: usize = 4;

/// What happens next: one instruction, or a run of narrow ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Site(Site),
    Run(usize),
}

/// A stretch of narrow sites.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// How many.
    pub sites: usize,
    pub forward: Vec<ColumnForward>,
    pub backward: Vec<ColumnBackward>,
    /// Values that enter from rows, and those that others read as rows.
    pub takes: Vec<Site>,
    pub gives: Vec<Site>,
    /// The same for adjoints.
    pub takes_adjoints: Vec<Site>,
    pub gives_adjoints: Vec<Site>,
    /// Sites that an adjoint reaches, last first.
    pub reached: Vec<Site>,
}

/// The narrow sites of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Narrow {
    pub runs: Vec<Run>,
    /// The step's instructions with runs in the place of their sites.
    pub turns: Vec<Turn>,
    /// Where a site's columns lie, among values and among adjoints.
    pub places: Vec<Option<usize>>,
    /// All columns, of which the first `kept` are needed by a backward.
    pub columns: usize,
    pub kept: usize,
}

impl Narrow {
    /// `stays(site)`: the site is a key or value of a cache, or fed from outside; `observed`: sites
    /// read from outside.
    pub fn new(graph: &Graph, stays: impl Fn(Site) -> bool, observed: &[Site]) -> Self {
        let count = graph.nodes.len();
        let mut is_narrow: Vec<bool> =
            (0..count).map(|site| can_be_narrow(graph, site) && !stays(site)).collect();
        let (stretches, turns) = stretches(graph, &mut is_narrow);
        let mut narrow = Self { turns, places: vec![None; count], ..Self::default() };
        narrow.place(graph, &is_narrow);

        let mut readers: Vec<Vec<Site>> = vec![Vec::new(); count];
        for (reader, operands) in graph.operands.iter().enumerate() {
            for &operand in operands {
                readers[operand].push(reader);
            }
        }
        let read_as_rows = |site: Site| {
            observed.contains(&site) || readers[site].iter().any(|&reader| !is_narrow[reader])
        };
        // A private adjoint stays in columns; anything else is rows between runs.
        let is_private = |site: Site| is_narrow[site] && !read_as_rows(site);
        let mut taken = vec![false; count];
        for sites in stretches {
            let mut run = Run::default();
            for site in sites.clone().filter(|&site| is_narrow[site]) {
                for &operand in &graph.operands[site] {
                    if !is_narrow[operand] && !std::mem::replace(&mut taken[operand], true) {
                        run.takes.push(operand);
                    }
                }
                run.sites += 1;
                ColumnSite { graph, places: &narrow.places, site }.values(&mut run.forward);
                if read_as_rows(site) {
                    run.gives.push(site);
                }
            }
            for site in sites.clone().rev().filter(|&s| is_narrow[s] && graph.active[s]) {
                run.reached.push(site);
                if !is_private(site) {
                    run.takes_adjoints.push(site);
                }
                for (&operand, flow) in graph.operands[site].iter().zip(&graph.flows[site]) {
                    let outside = !sites.contains(&operand) && !is_private(operand);
                    if outside && *flow != Flow::None && !run.gives_adjoints.contains(&operand) {
                        run.gives_adjoints.push(operand);
                        if *flow == Flow::Add {
                            run.takes_adjoints.push(operand);
                        }
                    }
                }
                ColumnSite { graph, places: &narrow.places, site }.adjoints(&mut run.backward);
            }
            narrow.runs.push(run);
        }
        narrow
    }

    /// Gives columns to narrow sites and what they read, those that a backward needs first.
    fn place(&mut self, graph: &Graph, is_narrow: &[bool]) {
        let (mut has_columns, mut needed) = (is_narrow.to_vec(), vec![false; is_narrow.len()]);
        for site in (0..is_narrow.len()).filter(|&site| is_narrow[site]) {
            for &operand in &graph.operands[site] {
                has_columns[operand] = true;
            }
            if graph.active[site] {
                for read in graph.nodes[site].op.derivative_reads(site) {
                    needed[read] = true;
                }
            }
        }
        for want in [true, false] {
            for site in (0..is_narrow.len()).filter(|&s| has_columns[s] && needed[s] == want) {
                self.places[site] = Some(self.columns);
                self.columns += graph.width(site);
            }
            if want {
                self.kept = self.columns;
            }
        }
    }

    /// How many.
    pub fn sites(&self) -> usize {
        self.runs.iter().map(|run| run.sites).sum()
    }

    /// Where a site's columns lie.
    pub fn at(&self, site: Site) -> usize {
        self.places[site].expect("every operand of a narrow site has columns")
    }
}

fn can_be_narrow(graph: &Graph, site: Site) -> bool {
    let is_small = |s: Site| graph.width(s) <= WIDEST;
    let is_alone = graph.fused[site] == Fused::Alone && graph.home[site] == site;
    let is_home = graph.home.iter().enumerate().any(|(s, &home)| s != site && home == site);
    has_columns(&graph.nodes[site].op)
        && is_small(site)
        && graph.operands[site].iter().all(|&operand| is_small(operand))
        && is_alone
        && !is_home
}

/// Stretches of narrow sites, and the step's instructions with runs in their place; sites in
/// stretches that are too short are narrow no more. Inputs and constants, which do nothing,
/// interrupt no stretch.
fn stretches(graph: &Graph, is_narrow: &mut [bool]) -> (Vec<Range<Site>>, Vec<Turn>) {
    let (mut stretches, mut turns) = (Vec::new(), Vec::new());
    let does_nothing = |s: Site| graph.nodes[s].op.is_given();
    let mut site = 0;
    while site < is_narrow.len() {
        let ends = (site..is_narrow.len()).find(|&s| !is_narrow[s] && !does_nothing(s));
        let end = ends.unwrap_or(is_narrow.len());
        let narrow = is_narrow[site..end].iter().filter(|narrow| **narrow).count();
        if narrow >= SHORTEST {
            turns.push(Turn::Run(stretches.len()));
            stretches.push(site..end);
        } else {
            is_narrow[site..end].fill(false);
            turns.extend((site..end).map(Turn::Site));
        }
        if let Some(end) = ends {
            turns.push(Turn::Site(end));
        }
        site = end + 1;
    }
    (stretches, turns)
}
