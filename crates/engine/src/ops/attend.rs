//! Causal attention over a cache: appends this step's key and value, then reads all of it.
//!
//! Backward, a query's turn yields its own adjoint and its own position's. What earlier positions receive is
//! theirs to collect, under a cut (`backward/memory.rs`).

use backcut_kernels::attention::{Attend as Call, AttendAdjoint, Leave, Reads, Sent, Side};
use backcut_kernels::attention::{attend, attend_adjoint};
use backcut_kernels::{Isa, Real};

use super::{At, Backward, Forward, Operation, Values};
use crate::compile::graph::Flow;
use crate::forward::rollout::{Attended, Rollout};
use crate::trace::{Named, Scope, Site, Trace, Var};

/// Appends `key` and `value` to a cache, then reads all of it with `q`.
#[derive(Clone, PartialEq, Debug)]
pub struct Attend {
    pub(crate) q: Site,
    pub(crate) key: Site,
    pub(crate) value: Site,
    pub(crate) cache: usize,
    pub(crate) heads: usize,
}

impl Trace {
    /// Causal attention: appends this step's key and value to the cache `name` and reads all of it.
    #[track_caller]
    pub fn attend<'t>(
        &'t self,
        name: &str,
        q: Var<'t>,
        key: Var<'t>,
        value: Var<'t>,
        heads: usize,
    ) -> Var<'t> {
        self.check_heads(name, q, key, value, heads);
        self.check_scope(name, &[q, key, value], Scope::Step);
        let taken = self.inner.borrow().caches.iter().any(|c| c.name == name);
        self.check_new("cache", name, taken);
        let cache = self.inner.borrow().caches.len();
        let (width, heads) = (q.width(), heads.max(1));
        let op = Attend { q: q.site(), key: key.site(), value: value.site(), cache, heads };
        let var = self.push(Scope::Step, op, width, name);
        self.inner.borrow_mut().caches.push(Named { name: name.to_owned(), site: var.site() });
        var
    }

    #[track_caller]
    pub(super) fn check_heads(
        &self,
        name: &str,
        q: Var<'_>,
        key: Var<'_>,
        value: Var<'_>,
        heads: usize,
    ) {
        let (wq, wk, wv) = (q.width(), key.width(), value.width());
        if wq != wk || wq != wv {
            self.fail(
                format!(
                    "attention `{name}`: query, key and value have {wq}, {wk} and {wv} columns"
                ),
                "project all three to the same width",
            );
        } else if heads == 0 || wq % heads != 0 {
            self.fail(
                format!("attention `{name}`: {heads} heads do not divide {wq} columns"),
                "choose a width that is a multiple of the number of heads",
            );
        }
    }
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

impl Operation for Attend {
    const NAME: &str = "attention";

    fn operands(&self) -> Vec<Site> {
        vec![self.q, self.key, self.value]
    }

    /// Queries, keys, values and probabilities are kept with the cache.
    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let Rollout { step, caches, spec, .. } = now.rollout;
        let (isa, At { t, .. }) = (now.model.isa(), now.at);
        let at = Values::new(now.model, step, now.at);
        let (attended, width) = (&mut caches[self.cache], at.width());
        let shape = attended.shape;
        attended.cache.put(isa, shape, t, width, at.value(self.key), at.value(self.value));
        attended.read(isa, spec.reads_at(t), t, width, at.value(self.q), at.out);
        let name = &now.model.program().caches[self.cache].name;
        if let Some(donor) = spec.donor.as_ref().filter(|donor| donor.gives(name)) {
            let from = &donor.rollout.caches[self.cache];
            attended.cache.graft(shape, &from.cache, from.shape, &donor.rows, t);
        }
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let graph = now.graph();
        let Backward { workspace, model, rollout, at: At { site, t, .. } } = now;
        let (isa, attended) = (model.isa(), &rollout.caches[self.cache]);
        let (width, len) = (graph.width(site), graph.width(site) * workspace.rows);
        let flows = &graph.flows[site];
        let starts = [self.q, self.key, self.value].map(|s| workspace.adjoints.block(s).start);
        let (before, own) = workspace.adjoints.split(site);
        for (lane, dout) in own.chunks_exact(len).enumerate() {
            let sent = &mut workspace.sent[self.cache][lane];
            let looks_back = workspace.plan.group_of(lane).credits.looks_back(self.cache);
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
}

/// How an adjoint leaves for an operand.
pub(super) fn leave<R>(flow: Flow) -> Leave<R> {
    if flow == Flow::Add { Leave::Add } else { Leave::Store }
}
