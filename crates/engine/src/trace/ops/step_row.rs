//! Row `t` of a learned table at step `t`, the same for every row of the batch.

use super::Operation;
use crate::trace::{Init, ParamId, Scope, Trace, Var};

/// Row `t` of a parameter table, the same for every row of the batch.
#[derive(Clone, PartialEq, Debug)]
pub struct StepRow(pub ParamId);

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

    fn parameters(&self) -> Vec<ParamId> {
        vec![self.0]
    }
}
