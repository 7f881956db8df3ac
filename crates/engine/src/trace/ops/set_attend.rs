//! Attention among the tokens of the condition.

use super::Operation;
use crate::trace::{Scope, Site, Trace, Var};

/// Every token of the condition reads every token (condition graph only).
#[derive(Clone, PartialEq, Debug)]
pub struct SetAttend {
    pub q: Site,
    pub key: Site,
    pub value: Site,
    pub heads: usize,
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
}
