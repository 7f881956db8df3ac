//! What every instruction sends back: its adjoint to its operands and parameters, in every lane.
//! (Weights of linear sites are collected apart, once per chunk of steps: `weights`.)

use backcut_kernels::attention::{AttendAdjoint, Leave, Reads, Sent, Side};
use backcut_kernels::attention::{attend_adjoint, spread_credit};
use backcut_kernels::elementwise::{
    self as ew, BinaryAdjoint, Operand, Pair, Part, Put, UnaryAdjoint,
};
use backcut_kernels::product::{Blocks, Finish, Start, bias_gradient, product};
use backcut_kernels::{Isa, Real, norm};

use crate::backward::local::Backward;
use crate::backward::workspace::Tokens;
use crate::compile::graph::{Flow, Fused};
use crate::compile::program::position;
use crate::forward::local::At;
use crate::forward::rollout::Attended;
use crate::trace::ops::Op;

impl Op {
    /// Sends its adjoint on.
    #[inline]
    pub(crate) fn backward<R: Real>(&self, now: Backward<'_, R>) {
        match self {
            // What flows back along edges between steps is for `edges`, under a cut.
            Self::Input(_) | Self::Constant(_) | Self::State(_) | Self::Register(_) => {}
            Self::StepRow(op) => {
                let Backward { workspace, model, at, .. } = now;
                let program = model.program();
                let width = program.width(at.site);
                let offset = program.layout().parameters()[op.0].offset + at.t * width;
                for (index, variant) in workspace.plan.variants.iter().enumerate() {
                    if variant.leader != index && !workspace.split[op.0] {
                        continue;
                    }
                    let target = &mut workspace.totals[index][offset..offset + width];
                    for lane in workspace.plan.groups[variant.group].lanes() {
                        let dy = &workspace.adjoints.data[workspace.adjoints.range(at.site, lane)];
                        let dy = Blocks::dense(dy, dy.len());
                        bias_gradient(model.isa(), 1, workspace.rows, width, dy, target);
                    }
                }
            }
            Self::Recall(op) => {
                if now.model.program().condition.active[op.0] {
                    let workspace = now.workspace;
                    let from = &workspace.adjoints.data[workspace.adjoints.block(now.at.site)];
                    let block = workspace.condition_adjoints.block(op.0);
                    ew::add(now.model.isa(), from, &mut workspace.condition_adjoints.data[block]);
                }
            }
            Self::Linear(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (isa, lanes, rows) = (at.isa(), at.lanes, at.rows);
                let (n_in, n_out) = (at.graph.width(op.x), at.width());
                let panels = at.model.transposed(op.weight);
                if let Fused::AfterGelu { gelu } = at.graph.fused[at.at.site] {
                    let finish = Finish::Times(at.saved(gelu));
                    at.each_lane(op.x, |dy, dx| {
                        product(isa, rows, dy, n_out, panels, Start::Zero, finish, dx, n_in);
                    });
                } else {
                    let start = if put == Put::Add { Start::Accumulate } else { Start::Zero };
                    let (dy, dx) = at.to(op.x);
                    product(isa, lanes * rows, dy, n_out, panels, start, Finish::Store, dx, n_in);
                }
            }
            Self::LayerNorm(op) => {
                now.workspace.norm_gradient(now.model, now.rollout, op, now.at);
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (isa, n, gain) = (at.isa(), at.width(), at.model.parameter(op.gain));
                let (x, saved) = (at.value(op.x), at.saved(at.at.site));
                at.each_lane(op.x, |dy, dx| {
                    norm::layer_norm_adjoint(isa, n, x, gain, saved, dy, dx, put);
                });
            }
            Self::Gelu(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                if at.graph.fused[at.at.site] != Fused::Gelu {
                    let (isa, derivative) = (at.isa(), at.saved(at.at.site));
                    at.each_lane(op.x, |dy, dx| ew::times(isa, dy, derivative, dx, put));
                }
            }
            Self::Attend(op) => {
                let graph = now.graph();
                let Backward { workspace, model, rollout, at: At { site, t, .. } } = now;
                let (isa, attended) = (model.isa(), &rollout.caches[op.cache]);
                let (width, len) = (graph.width(site), graph.width(site) * workspace.rows);
                let flows = &graph.flows[site];
                let starts = [op.q, op.key, op.value].map(|s| workspace.adjoints.block(s).start);
                let (before, own) = workspace.adjoints.split(site);
                for (lane, dout) in own.chunks_exact(len).enumerate() {
                    let sent = &mut workspace.sent[op.cache][lane];
                    let looks_back = workspace.plan.group_of(lane).credits.looks_back(op.cache);
                    let at = if looks_back { t } else { 0 };
                    // A query that does not learn keeps its adjoint in its own, unread place.
                    let dq = (&mut before[starts[0] + lane * len..][..len], leave(flows[0]));
                    let scratch = &mut workspace.scratch;
                    let reads = rollout.spec.reads_at(t);
                    attended.read_adjoint(isa, reads, t, width, dout, dq, (sent, at), scratch);
                    let credit = attended.credit(sent);
                    for (start, flow, side) in
                        [(starts[1], flows[1], Side::Key), (starts[2], flows[2], Side::Value)]
                    {
                        if flow != Flow::None {
                            let to = &mut before[start + lane * len..][..len];
                            credit.own(isa, side, t, at, width, leave(flow), to, scratch);
                        }
                    }
                }
            }
            Self::Cross(op) => {
                let (graph, program) = (now.graph(), now.model.program());
                let Backward { workspace, model, rollout, at: At { site, t, .. } } = now;
                let index = position(&program.crosses, site);
                let attended = &rollout.crosses[index];
                let (width, len) = (graph.width(site), graph.width(site) * workspace.rows);
                let reads = Reads { lo: 0, hi: program.tokens, hidden: None };
                let flow = graph.flows[site][0];
                let start = workspace.adjoints.block(op.q).start;
                let (before, own) = workspace.adjoints.split(site);
                for (lane, dout) in own.chunks_exact(len).enumerate() {
                    let Tokens { keys, values, sent } = &mut workspace.crosses[index][lane];
                    let dq = if flow == Flow::None {
                        &mut workspace.own[..len]
                    } else {
                        &mut before[start + lane * len..][..len]
                    };
                    let (isa, dq, scratch) =
                        (model.isa(), (dq, leave(flow)), &mut workspace.scratch);
                    attended.read_adjoint(isa, reads, t, width, dout, dq, (sent, 0), scratch);
                    let (query, p) = ((&attended.queries, t), attended.probabilities_at(t));
                    spread_credit(isa, attended.shape, reads, query, p, (sent, 0), keys, values);
                }
            }
            Self::SetAttend(op) => {
                let (graph, program) = (now.graph(), now.model.program());
                let Backward { workspace, model, rollout, at: At { site, .. } } = now;
                let index = position(&program.sets, site);
                let attended = &rollout.sets[index];
                let (tokens, width) = (program.tokens, graph.width(site));
                let len = width * rollout.condition.frame.rows;
                let reads = Reads { lo: 0, hi: tokens, hidden: None };
                let flows = &graph.flows[site];
                let starts =
                    [op.q, op.key, op.value].map(|s| workspace.condition_adjoints.block(s).start);
                let Tokens { keys, values, sent } = &mut workspace.sets[index];
                let (isa, shape, stride) = (model.isa(), attended.shape, tokens * width);
                let (before, own) = workspace.condition_adjoints.split(site);
                for (lane, dout) in own.chunks_exact(len).enumerate() {
                    keys.clear();
                    values.clear();
                    for token in 0..tokens {
                        let at = token * width;
                        let dq = (&mut before[starts[0] + lane * len..][at..len], leave(flows[0]));
                        let scratch = &mut workspace.scratch;
                        let dout = &dout[at..];
                        attended.read_adjoint(
                            isa,
                            reads,
                            token,
                            stride,
                            dout,
                            dq,
                            (sent, 0),
                            scratch,
                        );
                        let (query, p) =
                            ((&attended.queries, token), attended.probabilities_at(token));
                        spread_credit(isa, shape, reads, query, p, (sent, 0), keys, values);
                    }
                    for (start, flow, from) in
                        [(starts[1], flows[1], &*keys), (starts[2], flows[2], &*values)]
                    {
                        if flow == Flow::None {
                            continue;
                        }
                        let target = &mut before[start + lane * len..][..len];
                        if flow == Flow::Store {
                            target.fill(R::ZERO);
                        }
                        for token in 0..tokens {
                            let target = &mut target[token * width..];
                            from.leave(isa, shape, token, stride, Leave::Add, target);
                        }
                    }
                }
            }
            Self::Unary(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (isa, x, y) = (at.isa(), at.value(op.x), at.value(at.at.site));
                at.each_lane(op.x, |dy, dx| {
                    ew::unary_adjoint(isa, op.function, UnaryAdjoint { x, y, dy, dx, put });
                });
            }
            Self::Binary(op) => {
                let mut at = now.local();
                let (isa, y) = (at.isa(), at.value(at.at.site));
                let pair = Pair { width: at.width(), a: at.value(op.a), b: at.value(op.b) };
                for (index, (operand, site)) in
                    [(Operand::First, op.a), (Operand::Second, op.b)].into_iter().enumerate()
                {
                    let Some(put) = at.put(index) else { continue };
                    at.each_lane(site, |dy, d| {
                        let adjoint = BinaryAdjoint { operand, pair, y, dy, d, put };
                        ew::binary_adjoint(isa, op.function, adjoint);
                    });
                }
            }
            Self::Affine(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (isa, scale) = (at.isa(), &at.constants()[..op.scale.len()]);
                let (dy, dx) = at.to(op.x);
                ew::affine_adjoint(isa, scale, dy, dx, put);
            }
            Self::Slice(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (isa, n, width) = (at.isa(), at.width(), at.graph.width(op.x));
                let (dy, dx) = at.to(op.x);
                if put == Put::Store {
                    dx.fill(R::ZERO);
                }
                let target = Part { matrix: dx, width, start: op.start };
                ew::columns(isa, n, Part::whole(dy, n), target, Put::Add);
            }
            Self::Concat(op) => {
                let mut at = now.local();
                let (isa, width, mut start) = (at.isa(), at.width(), 0);
                for (index, &part) in op.0.iter().enumerate() {
                    let n = at.graph.width(part);
                    if let Some(put) = at.put(index) {
                        let (matrix, d) = at.to(part);
                        ew::columns(isa, n, Part { matrix, width, start }, Part::whole(d, n), put);
                    }
                    start += n;
                }
            }
            Self::SubTiled(op) => {
                let mut at = now.local();
                let (isa, width, tile) = (at.isa(), at.width(), at.graph.width(op.b));
                if let Some(put) = at.put(0) {
                    let (dy, da) = at.to(op.a);
                    ew::columns(isa, width, Part::whole(dy, width), Part::whole(da, width), put);
                }
                if let Some(put) = at.put(1) {
                    let (dy, db) = at.to(op.b);
                    ew::sub_tiled_adjoint(isa, tile, op.times, dy, db, put);
                }
            }
            Self::RowSum(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (isa, width) = (at.isa(), at.graph.width(op.0));
                let (dy, dx) = at.to(op.0);
                ew::row_sum_adjoint(isa, width, dy, dx, put);
            }
            Self::WeightedSquare(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (isa, weight, x) = (at.isa(), at.constants(), at.value(op.x));
                at.each_lane(op.x, |dy, dx| {
                    ew::weighted_square_adjoint(isa, weight, x, dy, dx, put);
                });
            }
            Self::Softmax(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (width, y) = (at.width(), at.value(at.at.site));
                at.each_lane(op.0, |dy, dx| {
                    let rows = y.chunks_exact(width).zip(dy.chunks_exact(width));
                    for ((y, dy), dx) in rows.zip(dx.chunks_exact_mut(width)) {
                        let along =
                            y.iter().zip(dy).fold(R::ZERO, |sum, (&y, &dy)| y.mul_add(dy, sum));
                        for ((dx, &y), &dy) in dx.iter_mut().zip(y).zip(dy) {
                            let sent = y * (dy - along);
                            *dx = if put == Put::Add { *dx + sent } else { sent };
                        }
                    }
                });
            }
            Self::Matrix(op) => {
                let mut at = now.local();
                let Some(put) = at.put(0) else { return };
                let (entries, width, columns) = (at.constants(), at.width(), op.columns);
                let (dy, dx) = at.to(op.x);
                for (dy, dx) in dy.chunks_exact(width).zip(dx.chunks_exact_mut(columns)) {
                    for (j, dx) in dx.iter_mut().enumerate() {
                        let column = entries.iter().skip(j).step_by(columns);
                        let sent =
                            column.zip(dy).fold(R::ZERO, |sum, (&a, &dy)| a.mul_add(dy, sum));
                        *dx = if put == Put::Add { *dx + sent } else { sent };
                    }
                }
            }
            Self::StopGradient(op) => {
                // Nothing is sent; but if nobody sent anything before, what is there is of another
                // step.
                let mut at = now.local();
                if at.put(0) == Some(Put::Store) {
                    at.to(op.0).1.fill(R::ZERO);
                }
            }
        }
    }
}

impl<R: Real> Attended<R> {
    /// The adjoint of the `query`-th query; what it sends is kept at `at` of `sent`.
    pub fn read_adjoint(
        &self,
        isa: Isa,
        reads: Reads<'_>,
        query: usize,
        stride: usize,
        dout: &[R],
        (dq, how): (&mut [R], Leave<R>),
        (sent, at): (&mut Sent<R>, usize),
        scratch: &mut [R],
    ) {
        let call = AttendAdjoint {
            shape: self.shape,
            reads,
            stride,
            cache: &self.cache,
            probabilities: self.probabilities_at(query),
            dout,
            dq,
            how,
            sent,
            query: at,
            scratch,
        };
        attend_adjoint(isa, call);
    }
}

/// How an adjoint leaves for an operand.
fn leave<R>(flow: Flow) -> Leave<R> {
    if flow == Flow::Add { Leave::Add } else { Leave::Store }
}
