//! Where the adjoints of a graph lie.

use backcut_kernels::product::Blocks;
use backcut_kernels::{Aligned, Real};

use crate::compile::graph::{Graph, lay_out};
use crate::trace::Site;

/// The adjoints of one graph: `[site][lane][row][column]`, of the step at hand.
///
/// Some linear sites keep those of a whole chunk of steps, `[slot][lane][row][column]`: weight
/// gradients are taken from there once per chunk, without a copy.
#[derive(Clone, Debug)]
pub(crate) struct Adjoints<R> {
    pub lanes: usize,
    pub rows: usize,
    pub data: Aligned<R>,
    /// Start and length of one lane, for each site.
    pub places: Vec<(usize, usize)>,
    /// Sites that keep a chunk, and where it starts.
    kept: Vec<(Site, usize)>,
}

impl<R: Real> Adjoints<R> {
    /// Adjoints of which those of the `whole` sites keep `chunk` steps.
    pub fn new(graph: &Graph, rows: usize, lanes: usize, whole: &[Site], chunk: usize) -> Self {
        let mut keeps = vec![false; graph.nodes.len()];
        for &site in whole {
            keeps[graph.home[site]] = true;
        }
        let slots = |home: Site| if keeps[home] { chunk } else { 1 };
        let sites = || 0..graph.nodes.len();
        let (starts, len) = lay_out(sites().map(|s| graph.width(s) * rows * lanes * slots(s)));
        let place = |site: Site| (starts[graph.home[site]], graph.width(site) * rows);
        let kept = sites().filter(|&site| keeps[graph.home[site]]);
        Self {
            lanes,
            rows,
            data: Aligned::zeros(len),
            places: sites().map(place).collect(),
            kept: kept.map(|site| (site, starts[graph.home[site]])).collect(),
        }
    }

    /// Turns to a slot of the chunk.
    pub fn turn(&mut self, slot: usize) {
        for &(site, start) in &self.kept {
            let (at, len) = &mut self.places[site];
            *at = start + slot * *len * self.lanes;
        }
    }

    /// One lane of a linear site, all slots of the chunk.
    pub fn chunk(&self, site: Site, lane: usize) -> Blocks<'_, R> {
        let (_, start) = self.kept.iter().find(|(kept, _)| *kept == site).expect("a linear site");
        let (_, len) = self.places[site];
        Blocks { data: &self.data[start + lane * len..], stride: len * self.lanes }
    }

    /// All lanes of a site.
    #[inline(always)]
    pub fn block(&self, site: Site) -> std::ops::Range<usize> {
        let (start, len) = self.places[site];
        start..start + len * self.lanes
    }

    /// One lane of a site.
    #[inline(always)]
    pub fn range(&self, site: Site, lane: usize) -> std::ops::Range<usize> {
        let (start, len) = self.places[site];
        start + lane * len..start + (lane + 1) * len
    }

    /// Splits so that a site's adjoint can be read while its operands' are written.
    #[inline(always)]
    pub fn split(&mut self, site: Site) -> (&mut [R], &mut [R]) {
        let block = self.block(site);
        let (before, after) = self.data.split_at_mut(block.start);
        (before, &mut after[..block.len()])
    }

    /// Heap bytes of the numbers held.
    pub fn bytes(&self) -> usize {
        self.data.bytes()
    }
}
