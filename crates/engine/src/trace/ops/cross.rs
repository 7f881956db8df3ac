//! Attention of a step over the condition's tokens.

use super::Operation;
use crate::trace::{Scope, Site, Trace, Var};

/// Reads the condition's tokens with `q`; keys and values are sites of the condition graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Cross {
    pub q: Site,
    pub key: Site,
    pub value: Site,
    pub heads: usize,
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
}
