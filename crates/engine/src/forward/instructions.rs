//! The value of every instruction. What an instruction sends back stands in
//! `backward/instructions.rs`.

use backcut_kernels::attention::{Attend as Call, Reads, attend};
use backcut_kernels::elementwise::{self as ew, Pair, Part, Put};
use backcut_kernels::product::{Finish, Start, product};
use backcut_kernels::{Isa, Real, gelu, norm};

use crate::compile::graph::Fused;
use crate::compile::program::position;
use crate::forward::local::{At, Forward, Values};
use crate::forward::rollout::spec::Donor;
use crate::forward::rollout::{Attended, Record, Rollout};
use crate::trace::ops::{Linear, Op};
use crate::trace::{Carried, Site};

const EPS: f64 = 1e-5;

impl Op {
    /// Computes its value.
    #[inline]
    pub(crate) fn forward<R: Real>(&self, now: Forward<'_, R>) {
        match self {
            // Written by the caller before the roll, and once when the storage was made.
            Self::Input(_) | Self::Constant(_) => {}
            Self::State(op) => {
                let Rollout { step, initial_states, .. } = now.rollout;
                let carried = &now.model.program().states()[op.0];
                carry(step, carried, now.at.t, &initial_states[op.0], None);
            }
            Self::Register(op) => {
                let Rollout { step, spec, initial_registers, .. } = now.rollout;
                let carried = &now.model.program().registers()[op.0];
                let donor = spec.donor.as_ref().filter(|donor| donor.gives(&carried.name));
                carry(step, carried, now.at.t, &initial_registers[op.0], donor);
            }
            Self::StepRow(op) => {
                let at = now.local();
                let width = at.width();
                let row = &at.model.parameter(op.0)[at.at.t * width..][..width];
                for out in at.out.chunks_exact_mut(width) {
                    out.copy_from_slice(row);
                }
            }
            Self::Recall(op) => {
                let Rollout { step, condition, .. } = now.rollout;
                let from = condition.frame.range(op.0, 0);
                let to = step.frame.range(now.at.site, now.at.t);
                step.values[to].copy_from_slice(&condition.values[from]);
            }
            Self::Linear(op) => {
                let mut at = now.local();
                // Otherwise its only reader, a sum, computes it (whatever else it is fused with).
                if at.graph.home[at.at.site] == at.at.site {
                    linear_into(op, &mut at, Finish::Store);
                }
            }
            Self::LayerNorm(op) => {
                let at = now.local();
                let (gain, bias) = (at.model.parameter(op.gain), at.model.parameter(op.bias));
                let (x, eps) = (at.value(op.x), R::from_f64(EPS));
                norm::layer_norm(at.isa(), at.width(), eps, x, gain, bias, at.saved, at.out);
            }
            Self::Gelu(op) => {
                let at = now.local();
                gelu::gelu(at.isa(), at.value(op.x), at.out, at.saved);
            }
            Self::Attend(op) => {
                let Rollout { step, caches, spec, .. } = now.rollout;
                let (isa, At { t, .. }) = (now.model.isa(), now.at);
                let at = Values::new(now.model, step, now.at);
                let (attended, width) = (&mut caches[op.cache], at.width());
                let shape = attended.shape;
                attended.cache.put(isa, shape, t, width, at.value(op.key), at.value(op.value));
                attended.read(isa, spec.reads_at(t), t, width, at.value(op.q), at.out);
                let name = &now.model.program().caches[op.cache].name;
                if let Some(donor) = spec.donor.as_ref().filter(|donor| donor.gives(name)) {
                    let from = &donor.rollout.caches[op.cache];
                    attended.cache.graft(shape, &from.cache, from.shape, &donor.rows, t);
                }
            }
            Self::Cross(op) => {
                let program = now.model.program();
                let Rollout { step, crosses, .. } = now.rollout;
                let attended = &mut crosses[position(&program.crosses, now.at.site)];
                let at = Values::new(now.model, step, now.at);
                let reads = Reads { lo: 0, hi: program.tokens, hidden: None };
                attended.read(at.isa(), reads, at.at.t, at.width(), at.value(op.q), at.out);
            }
            Self::SetAttend(op) => {
                let (isa, program, site) = (now.model.isa(), now.model.program(), now.at.site);
                let Rollout { condition, sets, .. } = now.rollout;
                let attended = &mut sets[position(&program.sets, site)];
                let (tokens, width) = (program.tokens, program.condition.width(site));
                let reads = Reads { lo: 0, hi: tokens, hidden: None };
                let (before, out) = condition.values.split_at_mut(condition.frame.at(site, 0));
                let of = |s: Site| &before[condition.frame.range(s, 0)];
                let (shape, stride) = (attended.shape, tokens * width);
                for token in 0..tokens {
                    let at = token * width;
                    let (key, value) = (&of(op.key)[at..], &of(op.value)[at..]);
                    attended.cache.put(isa, shape, token, stride, key, value);
                }
                for token in 0..tokens {
                    let at = token * width;
                    attended.read(isa, reads, token, stride, &of(op.q)[at..], &mut out[at..]);
                }
            }
            Self::Unary(op) => {
                let at = now.local();
                ew::unary(at.isa(), op.function, at.value(op.x), at.out);
            }
            Self::Binary(op) => {
                let mut at = now.local();
                if let Fused::Sum { linear, other } = at.graph.fused[at.at.site]
                    && let Self::Linear(product) = &at.graph.nodes[linear].op
                {
                    let other = at.value(other);
                    linear_into(product, &mut at, Finish::Add(other));
                    return;
                }
                let pair = Pair { width: at.width(), a: at.value(op.a), b: at.value(op.b) };
                ew::binary(at.isa(), op.function, pair, at.out);
            }
            Self::Affine(op) => {
                let at = now.local();
                let (scale, offset) = at.constants().split_at(op.scale.len());
                ew::affine(at.isa(), at.value(op.x), scale, offset, at.out);
            }
            Self::Slice(op) => {
                let at = now.local();
                let (x, n, width) = (at.value(op.x), at.width(), at.graph.width(op.x));
                let source = Part { matrix: x, width, start: op.start };
                ew::columns(at.isa(), n, source, Part::whole(at.out, n), Put::Store);
            }
            Self::Concat(op) => {
                let at = now.local();
                let (isa, width, mut start) = (at.isa(), at.width(), 0);
                for &part in &op.0 {
                    let (source, n) = (at.value(part), at.graph.width(part));
                    let target = Part { matrix: &mut *at.out, width, start };
                    ew::columns(isa, n, Part::whole(source, n), target, Put::Store);
                    start += n;
                }
            }
            Self::SubTiled(op) => {
                let at = now.local();
                let (width, a, b) = (at.graph.width(op.b), at.value(op.a), at.value(op.b));
                ew::sub_tiled(at.isa(), width, op.times, a, b, at.out);
            }
            Self::RowSum(op) => {
                let at = now.local();
                ew::row_sum(at.isa(), at.graph.width(op.0), at.value(op.0), at.out);
            }
            Self::WeightedSquare(op) => {
                let at = now.local();
                ew::weighted_square(at.isa(), at.constants(), at.value(op.x), at.out);
            }
            Self::Softmax(op) => {
                let at = now.local();
                let width = at.width();
                for (x, y) in at.value(op.0).chunks_exact(width).zip(at.out.chunks_exact_mut(width))
                {
                    let most = x.iter().fold(x[0], |most, &x| if x > most { x } else { most });
                    let mut sum = R::ZERO;
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y = (x - most).exp();
                        sum += *y;
                    }
                    for y in y {
                        *y = *y / sum;
                    }
                }
            }
            Self::Matrix(op) => {
                let at = now.local();
                let (entries, width) = (at.constants(), at.width());
                let rows = at.value(op.x).chunks_exact(op.columns);
                for (x, y) in rows.zip(at.out.chunks_exact_mut(width)) {
                    for (y, row) in y.iter_mut().zip(entries.chunks_exact(op.columns)) {
                        *y = row.iter().zip(x).fold(R::ZERO, |sum, (&a, &x)| a.mul_add(x, sum));
                    }
                }
            }
            Self::StopGradient(op) => {
                let at = now.local();
                at.out.copy_from_slice(at.value(op.0));
            }
        }
    }
}

/// `x W + b`, with what a fused reader does to its sums.
fn linear_into<R: Real>(op: &Linear, at: &mut Values<'_, R>, finish: Finish<'_, R>) {
    let model = at.model;
    let start = op.bias.map_or(Start::Zero, |bias| Start::Bias(model.parameter(bias)));
    let (x, n_in, n_out) = (at.value(op.x), at.graph.width(op.x), at.width());
    let panels = model.panels(op.weight);
    product(at.isa(), at.rows(), x, n_in, panels, start, finish, &mut *at.out, n_out);
}

impl<R: Real> Attended<R> {
    /// One query per row, whose rows lie `stride` apart; it is kept as the `query`-th.
    pub fn read(
        &mut self,
        isa: Isa,
        reads: Reads<'_>,
        query: usize,
        stride: usize,
        q: &[R],
        out: &mut [R],
    ) {
        let Self { shape, cache, queries, probabilities, scratch } = self;
        let len = shape.probability_len();
        let probabilities = &mut probabilities[query * len..][..len];
        let shape = *shape;
        let call =
            Call { shape, reads, stride, q, queries, query, cache, probabilities, out, scratch };
        attend(isa, call);
    }
}

/// The first value, or what the previous step handed on (a donor's, if there is one).
fn carry<R: Real>(
    step: &mut Record<R>,
    carried: &Carried,
    t: usize,
    first: &[R],
    donor: Option<&Donor<R>>,
) {
    let to = step.frame.range(carried.read, t);
    if t == 0 {
        step.values[to].copy_from_slice(first);
    } else if let Some(donor) = donor {
        let width = carried.width;
        let from = donor.rollout.value(carried.next, t - 1);
        for (to, &row) in step.values[to].chunks_exact_mut(width).zip(&donor.rows) {
            to.copy_from_slice(&from[row * width..][..width]);
        }
    } else {
        step.values.copy_within(step.frame.range(carried.next, t - 1), to.start);
    }
}
