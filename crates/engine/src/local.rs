//! Instructions that stay within one step: value and adjoint side by side.
//!
//! The step graph and the condition graph run the same code; they differ in their [`Frame`].

use backcut_kernels::elementwise::{self as ew, Binary, Operand};
use backcut_kernels::product::{Blocks, Finish, Start, product};
use backcut_kernels::{Aligned, Isa, Real, gelu, norm};

use crate::graph::{Flow, Fused, Graph, lay_out};
use crate::model::{Constants, Model};
use crate::rollout::Record;
use crate::trace::{Op, Site};

/// The constant of layer norm.
pub(crate) const NORM_EPS: f64 = 1e-5;

/// Computes the value of a local instruction at step `t`; others are left alone.
pub(crate) fn forward<R: Real>(
    model: &Model<R>,
    graph: &Graph,
    constants: &[Constants<R>],
    record: &mut Record<R>,
    site: Site,
    t: usize,
) {
    let Record { frame, values, saved } = record;
    let isa = model.isa();
    let own = frame.range(site, t);
    let (before, after) = values.split_at_mut(frame.at(site, 0));
    let start = own.start - before.len();
    let out = &mut after[start..start + own.len()];
    let value = |operand: Site| &before[frame.range(operand, t)];
    let width = graph.width(site);
    let linear = |x: Site, weight, bias: Option<_>, finish, out: &mut [R]| {
        let start = bias.map_or(Start::Zero, |b| Start::Bias(model.parameter(b)));
        let panels = model.panels(weight);
        product(isa, frame.rows, value(x), graph.width(x), panels, start, finish, out, width);
    };
    if let Fused::Sum { linear: product_site, other } = graph.fused[site]
        && let Op::Linear { x, weight, bias } = graph.nodes[product_site].op
    {
        linear(x, weight, bias, Finish::Add(value(other)), out);
        return;
    }
    match &graph.nodes[site].op {
        Op::Linear { x, weight, bias } => {
            // Its only reader, a sum, computes it (whatever else it is fused with).
            if graph.home[site] == site {
                linear(*x, *weight, *bias, Finish::Store, out);
            }
        }
        Op::LayerNorm { x, gain, bias } => {
            let saved = &mut saved[frame.saved(site, t)];
            let (gain, bias) = (model.parameter(*gain), model.parameter(*bias));
            norm::layer_norm(isa, width, R::from_f64(NORM_EPS), value(*x), gain, bias, saved, out);
        }
        Op::Gelu { x } => {
            gelu::gelu(isa, value(*x), out, &mut saved[frame.saved(site, t)]);
        }
        Op::Unary { op, x } => ew::unary(isa, *op, value(*x), out),
        Op::Binary { op, a, b } => {
            if graph.width(*a) == graph.width(*b) {
                ew::binary(isa, *op, value(*a), value(*b), out);
            } else {
                ew::binary_column(isa, *op, width, value(*a), value(*b), out);
            }
        }
        Op::Affine { x, .. } => {
            let Constants { scale, offset } = &constants[site];
            ew::affine(isa, value(*x), scale, offset, out);
        }
        Op::Slice { x, start } => {
            let n = graph.width(*x);
            ew::columns(isa, value(*x), n, *start, out, width, 0, width, false);
        }
        Op::Concat(parts) => {
            let mut at = 0;
            for &part in parts {
                let n = graph.width(part);
                ew::columns(isa, value(part), n, 0, out, width, at, n, false);
                at += n;
            }
        }
        Op::SubTiled { a, b, times } => {
            ew::sub_tiled(isa, graph.width(*b), *times, value(*a), value(*b), out);
        }
        Op::RowSum(x) => ew::row_sum(isa, graph.width(*x), value(*x), out),
        Op::WeightedSquare { x, .. } => {
            ew::weighted_square(isa, &constants[site].scale, value(*x), out);
        }
        Op::StepRow(table) => {
            let row = &model.parameter(*table)[t * width..][..width];
            for out in out.chunks_exact_mut(width) {
                out.copy_from_slice(row);
            }
        }
        Op::Input(_)
        | Op::State(_)
        | Op::Register(_)
        | Op::Constant(_)
        | Op::Attend { .. }
        | Op::Cross { .. }
        | Op::SetAttend { .. }
        | Op::Recall(_) => {}
    }
}

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
    places: Vec<(usize, usize)>,
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

/// Sends a local instruction's adjoint to its operands, in every lane.
pub(crate) fn adjoint<R: Real>(
    model: &Model<R>,
    graph: &Graph,
    constants: &[Constants<R>],
    record: &Record<R>,
    adjoints: &mut Adjoints<R>,
    site: Site,
    t: usize,
) {
    let (isa, frame) = (model.isa(), &record.frame);
    let flows = &graph.flows[site];
    if flows.iter().all(|&f| f == Flow::None) {
        return;
    }
    let Adjoints { lanes, rows, data, places, .. } = adjoints;
    let (lanes, rows) = (*lanes, *rows);
    let width = graph.width(site);
    let (start, len) = places[site];
    let (before, after) = data.split_at_mut(start);
    let own = &after[..len * lanes];
    let lane_of = |lane: usize| &own[lane * len..(lane + 1) * len];
    let value = |s: Site| &record.values[frame.range(s, t)];
    let block = |s: Site| {
        let (start, len) = places[s];
        start..start + len * lanes
    };
    let range = |s: Site, lane: usize| {
        let (start, len) = places[s];
        start + lane * len..start + (lane + 1) * len
    };
    match &graph.nodes[site].op {
        Op::Linear { x, weight, .. } => {
            let n_in = graph.width(*x);
            let dx = &mut before[block(*x)];
            let start = if flows[0].adds() { Start::Accumulate } else { Start::Zero };
            let panels = model.transposed(*weight);
            if let Fused::AfterGelu { gelu } = graph.fused[site] {
                let derivative = &record.saved[frame.saved(gelu, t)];
                for (lane, dx) in dx.chunks_exact_mut(n_in * rows).enumerate() {
                    let dy = lane_of(lane);
                    let finish = Finish::Times(derivative);
                    product(isa, rows, dy, width, panels, Start::Zero, finish, dx, n_in);
                }
            } else {
                product(isa, lanes * rows, own, width, panels, start, Finish::Store, dx, n_in);
            }
        }
        Op::LayerNorm { x, gain, .. } => {
            let saved = &record.saved[frame.saved(site, t)];
            let gain = model.parameter(*gain);
            for lane in 0..lanes {
                let (dx, dy) = (&mut before[range(*x, lane)], lane_of(lane));
                norm::layer_norm_adjoint(
                    isa,
                    width,
                    value(*x),
                    gain,
                    saved,
                    dy,
                    dx,
                    flows[0].adds(),
                );
            }
        }
        Op::Gelu { .. } if graph.fused[site] == Fused::Gelu => {}
        Op::Gelu { x } => {
            let derivative = &record.saved[frame.saved(site, t)];
            for lane in 0..lanes {
                let (dx, dy) = (&mut before[range(*x, lane)], lane_of(lane));
                ew::times(isa, dy, derivative, dx, flows[0].adds());
            }
        }
        Op::Unary { op, x } => {
            for lane in 0..lanes {
                let (dx, dy) = (&mut before[range(*x, lane)], lane_of(lane));
                ew::unary_adjoint(isa, *op, value(*x), value(site), dy, dx, flows[0].adds());
            }
        }
        Op::Binary { op, a, b } => {
            let values = BinaryValues { a: value(*a), b: value(*b), y: value(site), width };
            for (operand, s, flow) in
                [(Operand::First, *a, flows[0]), (Operand::Second, *b, flows[1])]
            {
                if flow != Flow::None {
                    for lane in 0..lanes {
                        let (d, dy) = (&mut before[range(s, lane)], lane_of(lane));
                        values.adjoint(isa, *op, operand, dy, d, flow.adds());
                    }
                }
            }
        }
        Op::Affine { x, .. } => {
            ew::affine_adjoint(
                isa,
                &constants[site].scale,
                own,
                &mut before[block(*x)],
                flows[0].adds(),
            );
        }
        Op::Slice { x, start } => {
            let n = graph.width(*x);
            let dx = &mut before[block(*x)];
            if !flows[0].adds() {
                dx.fill(R::ZERO);
            }
            ew::columns(isa, own, width, 0, dx, n, *start, width, true);
        }
        Op::Concat(parts) => {
            let mut at = 0;
            for (&part, flow) in parts.iter().zip(flows) {
                let n = graph.width(part);
                if *flow != Flow::None {
                    let d = &mut before[block(part)];
                    ew::columns(isa, own, width, at, d, n, 0, n, flow.adds());
                }
                at += n;
            }
        }
        Op::SubTiled { a, b, times } => {
            if flows[0] != Flow::None {
                let d = &mut before[block(*a)];
                ew::columns(isa, own, width, 0, d, width, 0, width, flows[0].adds());
            }
            if flows[1] != Flow::None {
                let d = &mut before[block(*b)];
                ew::sub_tiled_adjoint(isa, graph.width(*b), *times, own, d, flows[1].adds());
            }
        }
        Op::RowSum(x) => {
            let d = &mut before[block(*x)];
            ew::row_sum_adjoint(isa, graph.width(*x), own, d, flows[0].adds());
        }
        Op::WeightedSquare { x, .. } => {
            let weight = &constants[site].scale;
            for lane in 0..lanes {
                let (dx, dy) = (&mut before[range(*x, lane)], lane_of(lane));
                ew::weighted_square_adjoint(isa, weight, value(*x), dy, dx, flows[0].adds());
            }
        }
        Op::Input(_)
        | Op::State(_)
        | Op::Register(_)
        | Op::Constant(_)
        | Op::StepRow(_)
        | Op::Attend { .. }
        | Op::Cross { .. }
        | Op::SetAttend { .. }
        | Op::Recall(_) => {}
    }
}

struct BinaryValues<'a, R> {
    a: &'a [R],
    b: &'a [R],
    y: &'a [R],
    width: usize,
}

impl<R: Real> BinaryValues<'_, R> {
    fn adjoint(&self, isa: Isa, op: Binary, operand: Operand, dy: &[R], d: &mut [R], add: bool) {
        let Self { a, b, y, width } = *self;
        if a.len() == b.len() {
            ew::binary_adjoint(isa, op, operand, a, b, y, dy, d, add);
        } else {
            ew::binary_column_adjoint(isa, op, operand, width, a, b, y, dy, d, add);
        }
    }
}
