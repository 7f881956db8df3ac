//! Attention of a step over the condition's tokens.

use backcut_kernels::Real;
use backcut_kernels::attention::{Reads, spread_credit};

use super::attend::leave;
use super::{At, Backward, Forward, Operation, Values};
use crate::backward::workspace::Tokens;
use crate::compile::graph::Flow;
use crate::compile::program::position;
use crate::forward::rollout::Rollout;
use crate::trace::{Scope, Site, Trace, Var};

/// Reads the condition's tokens with `q`; keys and values are sites of the condition graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Cross {
    pub(crate) q: Site,
    pub(crate) key: Site,
    pub(crate) value: Site,
    pub(crate) heads: usize,
}

impl Trace {
    /// Reads the condition's tokens; `key` and `value` belong to the condition.
    #[track_caller]
    pub fn cross<'t>(
        &'t self,
        name: &str,
        q: Var<'t>,
        key: Var<'t>,
        value: Var<'t>,
        heads: usize,
    ) -> Var<'t> {
        self.check_heads(name, q, key, value, heads);
        self.check_scope(name, &[q], Scope::Step);
        self.check_scope(name, &[key, value], Scope::Condition);
        let heads = heads.max(1);
        let op = Cross { q: q.site(), key: key.site(), value: value.site(), heads };
        self.push(Scope::Step, op, q.width(), name)
    }
}

impl Operation for Cross {
    const NAME: &str = "cross-attention";

    fn operands(&self) -> Vec<Site> {
        vec![self.q]
    }

    fn condition_operands(&self) -> Vec<Site> {
        vec![self.key, self.value]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let program = now.model.program();
        let Rollout { step, crosses, .. } = now.rollout;
        let attended = &mut crosses[position(&program.crosses, now.at.site)];
        let at = Values::new(now.model, step, now.at);
        let reads = Reads { lo: 0, hi: program.tokens, hidden: None };
        attended.read(at.isa(), reads, at.at.t, at.width(), at.value(self.q), at.out);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let (graph, program) = (now.graph(), now.model.program());
        let Backward { workspace, model, rollout, at: At { site, t, .. } } = now;
        let index = position(&program.crosses, site);
        let attended = &rollout.crosses[index];
        let (width, len) = (graph.width(site), graph.width(site) * workspace.rows);
        let reads = Reads { lo: 0, hi: program.tokens, hidden: None };
        let flow = graph.flows[site][0];
        let start = workspace.adjoints.block(self.q).start;
        let (before, own) = workspace.adjoints.split(site);
        for (lane, dout) in own.chunks_exact(len).enumerate() {
            let Tokens { keys, values, sent } = &mut workspace.crosses[index][lane];
            let dq = if flow == Flow::None {
                &mut workspace.own[..len]
            } else {
                &mut before[start + lane * len..][..len]
            };
            let (isa, dq, scratch) = (model.isa(), (dq, leave(flow)), &mut workspace.scratch);
            attended.read_adjoint(isa, reads, t, width, dout, dq, (sent, 0), scratch);
            let (query, p) = ((&attended.queries, t), attended.probabilities_at(t));
            spread_credit(isa, attended.shape, reads, query, p, (sent, 0), keys, values);
        }
    }
}
