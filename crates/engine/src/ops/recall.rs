//! A one-token condition value, read by the step as it is.

use backcut_kernels::Real;
use backcut_kernels::elementwise as ew;

use super::{Backward, Forward, Operation};
use crate::forward::rollout::Rollout;
use crate::trace::{Scope, Site, Trace, Var};

/// A one-token condition value; the operand is a site of the condition graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Recall(pub(crate) Site);

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

    fn operands(&self) -> Vec<Site> {
        Vec::new()
    }

    fn condition_operands(&self) -> Vec<Site> {
        vec![self.0]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let Rollout { step, condition, .. } = now.rollout;
        let from = condition.frame.range(self.0, 0);
        let to = step.frame.range(now.at.site, now.at.t);
        step.values[to].copy_from_slice(&condition.values[from]);
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        if now.model.program().condition.active[self.0] {
            let workspace = now.workspace;
            let from = &workspace.adjoints.data[workspace.adjoints.block(now.at.site)];
            let block = workspace.condition_adjoints.block(self.0);
            ew::add(now.model.isa(), from, &mut workspace.condition_adjoints.data[block]);
        }
    }
}
