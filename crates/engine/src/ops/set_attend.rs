//! Attention among the tokens of the condition.

use backcut_kernels::Real;
use backcut_kernels::attention::{Leave, Reads, spread_credit};

use super::attend::leave;
use super::{At, Backward, Forward, Operation};
use crate::backward::workspace::Tokens;
use crate::compile::graph::Flow;
use crate::compile::program::position;
use crate::forward::rollout::Rollout;
use crate::trace::{Scope, Site, Trace, Var};

/// Every token of the condition reads every token (condition graph only).
#[derive(Clone, PartialEq, Debug)]
pub struct SetAttend {
    pub(crate) q: Site,
    pub(crate) key: Site,
    pub(crate) value: Site,
    pub(crate) heads: usize,
}

impl Trace {
    /// Attention among the tokens of the condition.
    #[track_caller]
    pub fn attend_set<'t>(
        &'t self,
        name: &str,
        q: Var<'t>,
        key: Var<'t>,
        value: Var<'t>,
        heads: usize,
    ) -> Var<'t> {
        self.check_heads(name, q, key, value, heads);
        self.check_scope(name, &[q, key, value], Scope::Condition);
        let heads = heads.max(1);
        let op = SetAttend { q: q.site(), key: key.site(), value: value.site(), heads };
        self.push(Scope::Condition, op, q.width(), name)
    }
}

impl Operation for SetAttend {
    const NAME: &str = "set attention";

    fn operands(&self) -> Vec<Site> {
        vec![self.q, self.key, self.value]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
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
            let (key, value) = (&of(self.key)[at..], &of(self.value)[at..]);
            attended.cache.put(isa, shape, token, stride, key, value);
        }
        for token in 0..tokens {
            let at = token * width;
            attended.read(isa, reads, token, stride, &of(self.q)[at..], &mut out[at..]);
        }
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let (graph, program) = (now.graph(), now.model.program());
        let Backward { workspace, model, rollout, at: At { site, .. } } = now;
        let index = position(&program.sets, site);
        let attended = &rollout.sets[index];
        let (tokens, width) = (program.tokens, graph.width(site));
        let len = width * rollout.condition.frame.rows;
        let reads = Reads { lo: 0, hi: tokens, hidden: None };
        let flows = &graph.flows[site];
        let starts =
            [self.q, self.key, self.value].map(|s| workspace.condition_adjoints.block(s).start);
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
                attended.read_adjoint(isa, reads, token, stride, dout, dq, (sent, 0), scratch);
                let (query, p) = ((&attended.queries, token), attended.probabilities_at(token));
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
}
