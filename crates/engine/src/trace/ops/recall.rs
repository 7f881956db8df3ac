//! A one-token condition value, read by the step as it is.

use super::Operation;
use crate::trace::{Scope, Site, Trace, Var};

/// A one-token condition value; the operand is a site of the condition graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Recall(pub Site);

impl Trace {
    /// A one-token condition value, read by the step as it is.
    #[track_caller]
    pub fn recall<'t>(&'t self, source: Var<'t>) -> Var<'t> {
        self.check_scope("recall", &[source], Scope::Condition);
        if self.inner.borrow().tokens != 1 {
            self.fail(
                "recall of a condition with several tokens".into(),
                "use cross-attention, or a condition of one token",
            );
        }
        self.push(Scope::Step, Recall(source.site()), source.width(), "recall")
    }
}

impl Operation for Recall {
    const NAME: &str = "recall";

    fn condition_operands(&self) -> Vec<Site> {
        vec![self.0]
    }
}
