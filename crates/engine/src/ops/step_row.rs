//! Row `t` of a learned table at step `t`, the same for every row of the batch.

use backcut_kernels::Real;
use backcut_kernels::product::{Blocks, bias_gradient};

use super::{Backward, Forward, Operation};
use crate::compile::layout::Init;
use crate::trace::{ParamId, Scope, Site, Trace, Var};

/// Row `t` of a parameter table, the same for every row of the batch.
#[derive(Clone, PartialEq, Debug)]
pub struct StepRow(pub(crate) ParamId);

impl Trace {
    /// Row `t` of a learned table, at step `t`: a learned position.
    #[track_caller]
    pub fn step_row(&self, name: &str, steps: usize, width: usize, init: Init) -> Var<'_> {
        self.check_width("step row", name, width);
        if steps == 0 {
            self.fail(format!("table `{name}` has no rows"), "give it one row per step");
        }
        let table = self.parameter(name, steps, width, init);
        self.push(Scope::Step, StepRow(table), width, name)
    }
}

impl Operation for StepRow {
    const NAME: &str = "step row";

    fn operands(&self) -> Vec<Site> {
        Vec::new()
    }

    fn parameters(&self) -> Vec<ParamId> {
        vec![self.0]
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let at = now.local();
        let width = at.width();
        let row = &at.model.parameter(self.0)[at.at.t * width..][..width];
        for out in at.out.chunks_exact_mut(width) {
            out.copy_from_slice(row);
        }
    }

    fn backward<R: Real>(&self, now: Backward<'_, R>) {
        let Backward { workspace, model, at, .. } = now;
        let program = model.program();
        let width = program.width(at.site);
        let offset = program.layout().parameters()[self.0].offset + at.t * width;
        for (index, variant) in workspace.plan.variants.iter().enumerate() {
            if variant.leader != index && !workspace.split[self.0] {
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
}
